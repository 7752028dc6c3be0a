"""backward() and .grad: weights, accumulation, freed buffers, one element at a time."""

import symgrad.torch as torch
from symgrad.torch.autograd import Variable

# ---------------------------------------------------------------- what a tensor knows

x = torch.tensor(1.0, requires_grad=True)
y = torch.tensor(2.0)
z = x * y
for tensor, name in zip([x, y, z], "xyz", strict=True):
    print(
        f"{name}\ndata: {tensor.data}\nrequires_grad: {tensor.requires_grad}\n"
        f"grad: {tensor.grad}\ngrad_fn: {tensor.grad_fn}\nis_leaf: {tensor.is_leaf}\n"
    )
assert [f"{t.data}" for t in (x, y, z)] == ["1.0", "2.0", "2.0"]
assert [t.requires_grad for t in (x, y, z)] == [True, False, True]
assert [t.is_leaf for t in (x, y, z)] == [True, True, False]
assert x.grad_fn is None
assert str(z.grad_fn).startswith("<MulBackward0 object at 0x")

# ---------------------------------------------------------------- a number, a weighted vector

x = torch.tensor(1.0, requires_grad=True)
z = x**3
z.backward()
assert str(x.grad.data) == "tensor(3.)"

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x**2
y.backward(torch.FloatTensor([1.0, 1.0]))  # the argument weighs the elements
assert str(x.grad) == "tensor([2., 4.])"

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x**2
y.backward(x)  # weights other than one are no plain derivative
assert str(x.grad) == "tensor([2., 8.])"

# ---------------------------------------------------------------- accumulation

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x**2
z = y**3
w = torch.FloatTensor([1.0, 1.0])
z.backward(w, retain_graph=True)
assert y.grad is None  # y is no leaf, and did not ask for retain_grad()
assert str(x.grad) == "tensor([  6., 192.])"
z.backward(w, retain_graph=True)
assert y.grad is None
assert str(x.grad) == "tensor([ 12., 384.])"

x = torch.tensor([2.0, 2.0], requires_grad=True)
z = torch.tensor([4.0, 4.0], requires_grad=True)
y = x**2 + z**3
printed = []
for _ in range(3):
    y.backward(w, retain_graph=True)
    printed += [str(x.grad), str(z.grad)]
assert printed == [
    "tensor([4., 4.])", "tensor([48., 48.])",
    "tensor([8., 8.])", "tensor([96., 96.])",
    "tensor([12., 12.])", "tensor([144., 144.])",
]  # fmt: skip

# ---------------------------------------------------------------- the buffers are freed

x = torch.tensor([2.0, 2.0], requires_grad=True)
z = torch.tensor([4.0, 4.0], requires_grad=True)
y = x**2 + z**3
y.backward(w)
for _ in range(2):
    try:
        y.backward(w)
    except RuntimeError as error:
        print("Trying backward a second time when buffers are empty:", error, sep="\n  ")
        assert "Specify retain_graph=True" in str(error)
    else:
        raise AssertionError("the second backward ran")
assert str(x.grad) == "tensor([4., 4.])"  # as they were
assert str(z.grad) == "tensor([48., 48.])"

# ---------------------------------------------------------------- element by element

x = Variable(torch.FloatTensor([[1, 2, 3, 4]]), requires_grad=True)
z = 2 * x
loss = z.sum(dim=1)

z.backward(torch.FloatTensor([[1, 0, 0, 0]]), retain_graph=True)
assert str(x.grad.data) == "tensor([[2., 0., 0., 0.]])"
x.grad.data.zero_()  # else the next gradient is added

z.backward(torch.FloatTensor([[0, 1, 0, 0]]), retain_graph=True)
assert str(x.grad.data) == "tensor([[0., 2., 0., 0.]])"
x.grad.data.zero_()

z.backward(torch.FloatTensor([[1, 1, 1, 1]]), retain_graph=True)
assert str(x.grad.data) == "tensor([[2., 2., 2., 2.]])"
x.grad.data.zero_()

loss.backward()  # the same as loss.backward(torch.FloatTensor([1.0]))
assert str(x.grad.data) == "tensor([[2., 2., 2., 2.]])"
print("x.grad =", x.grad)
