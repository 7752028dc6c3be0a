"""Tiles of matrix products: the innermost loops, in vector registers.

A tile is some rows by some vectors of the result. It stays in registers while the loop goes
along the summed axis: each step loads a row of the right factor, as vectors, and one number from
each row of the left factor, which is multiplied into all of them. So every product is a fused
multiply-add, in the order of the summed axis, wherever in the matrix an element lies.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..runtime import register_bytes, vector_width

#: Vectors in a row of a tile.
VECTORS = 3


@dataclass(frozen=True)
class Tile:
    """The largest tile of one element type on a CPU.

    Attributes
    ----------
    kind:
        LLVM's type of an element.
    lanes:
        Elements of a vector.
    rows:
        Rows; a power of two, since blocks of so many rows and columns are transposed.
    """

    kind: str
    lanes: int
    rows: int

    @property
    def columns(self) -> int:
        """Columns: a row is three vectors."""
        return VECTORS * self.lanes

    @property
    def bytes(self) -> int:
        """The size of an element."""
        return {"double": 8, "float": 4}[self.kind]


def tile_bytes() -> int:
    """Return the size of the vector registers that tiles are made for; 0 for none.

    Where LLVM prefers half of a register, tiles take half; below 32 bytes BLAS was not measured.
    """
    size = min(register_bytes(), 64 if vector_width() else 32)
    return size if size >= 32 else 0


def tile_of(kind: str, size: int) -> Tile:
    """Return the tile for registers of a size in bytes.

    It takes three quarters of the registers: of 32 with AVX-512, of 16 with AVX2.
    """
    return Tile(kind, size // {"double": 8, "float": 4}[kind], {64: 8, 32: 4}[size])


def tile_texts(tile: Tile) -> list[str]:
    """Return the functions of all tiles up to the largest, with a table of them."""
    shapes = [(r, v) for r in range(1, tile.rows + 1) for v in range(1, VECTORS + 1)]
    rows = ", ".join(
        f"[{VECTORS} x ptr] [{', '.join(f'ptr @tile.{r}.{v + 1}' for v in range(VECTORS))}]"
        for r in range(1, tile.rows + 1)
    )
    table = f"@tiles = internal constant [{tile.rows} x [{VECTORS} x ptr]] [{rows}]"
    return [table, *(_tile(tile, r, v) for r, v in shapes), *_declarations(tile)]


def _declarations(tile: Tile) -> list[str]:
    texts = []
    for lanes in sorted({tile.lanes, tile.rows}):
        vector, mask, name = _vector(tile.kind, lanes)
        texts += [
            f"declare {vector} @llvm.masked.load.{name}.p0(ptr, i32, {mask}, {vector})",
            f"declare void @llvm.masked.store.{name}.p0({vector}, ptr, i32, {mask})",
        ]
    vector, _, name = _vector(tile.kind, tile.lanes)
    return [*texts, f"declare {vector} @llvm.fma.{name}({vector}, {vector}, {vector})"]


def _vector(kind: str, lanes: int) -> tuple[str, str, str]:
    """Return the types of a vector and of its mask, and the vector's name in intrinsics."""
    short = {"double": "f64", "float": "f32"}[kind]
    return f"<{lanes} x {kind}>", f"<{lanes} x i1>", f"v{lanes}{short}"


class Lines(list[str]):
    """Instructions on vectors of which the first ``lanes`` elements may be taken alone."""

    def __init__(self, kind: str, lanes: int, size: int) -> None:
        super().__init__()
        self.kind, self.lanes, self.size = kind, lanes, size
        self.vector, self.some, self.name = _vector(kind, lanes)

    def mask(self, name: str, count: str) -> None:
        """Define the mask of the first ``count`` lanes, an ``i64``."""
        n = self.lanes
        numbers = ", ".join(f"i32 {k}" for k in range(n))
        self.append(f"  {name}.n = trunc i64 {count} to i32")
        self.spread(f"{name}.v", "i32", f"{name}.n")
        self.append(f"  {name} = icmp ult <{n} x i32> <{numbers}>, {name}.v")

    def spread(self, name: str, kind: str, value: str) -> None:
        """Define a vector of equal elements."""
        vector = f"<{self.lanes} x {kind}>"
        same = f"<{self.lanes} x i32> zeroinitializer"
        self.append(f"  {name}.1 = insertelement {vector} poison, {kind} {value}, i32 0")
        self.append(f"  {name} = shufflevector {vector} {name}.1, {vector} poison, {same}")

    def load(self, name: str, pointer: str, mask: str | None) -> None:
        """Load a vector; where the mask is off, 0."""
        if mask is None:
            self.append(f"  {name} = load {self.vector}, ptr {pointer}, align {self.size}")
        else:
            self.append(
                f"  {name} = call {self.vector} @llvm.masked.load.{self.name}.p0(ptr {pointer}, "
                f"i32 {self.size}, {self.some} {mask}, {self.vector} zeroinitializer)"
            )

    def store(self, value: str, pointer: str, mask: str | None) -> None:
        """Store a vector where the mask is on."""
        if mask is None:
            self.append(f"  store {self.vector} {value}, ptr {pointer}, align {self.size}")
        else:
            self.append(
                f"  call void @llvm.masked.store.{self.name}.p0({self.vector} {value}, "
                f"ptr {pointer}, i32 {self.size}, {self.some} {mask})"
            )


def _tile(tile: Tile, rows: int, vectors: int) -> str:
    """Return the function of one tile; it adds to the result if ``%add``.

    Of the last vector the first ``%lanes`` elements count. Strides are in elements.
    """
    kind, size = tile.kind, tile.bytes
    p = Lines(kind, tile.lanes, size)
    vector = p.vector
    masks = [None] * (vectors - 1) + ["%mask"]
    each = [(r, v) for r in range(rows) for v in range(vectors)]
    p.mask("%mask", "%lanes")
    p += [f"  %down = mul i64 %ars, {size}", f"  %on = mul i64 %acs, {size}"]
    p += [f"  %row{r} = mul i64 %down, {r}" for r in range(rows)]
    p += [
        f"  %next = mul i64 %brs, {size}",
        "  %some = icmp sgt i64 %k, 0",
        "  br i1 %some, label %loop, label %done",
        "loop:",
        "  %left = phi i64 [ %k, %entry ], [ %left.next, %loop ]",
        "  %pa = phi ptr [ %a, %entry ], [ %pa.next, %loop ]",
        "  %pb = phi ptr [ %b, %entry ], [ %pb.next, %loop ]",
    ]
    p += [f"  %x{r}.{v} = phi {vector} [ zeroinitializer, %entry ], [ %y{r}.{v}, %loop ]"
          for r, v in each]  # fmt: skip
    for v, mask in enumerate(masks):
        p.append(f"  %b{v}.at = getelementptr {vector}, ptr %pb, i64 {v}")
        p.load(f"%b{v}", f"%b{v}.at", mask)
    for r in range(rows):
        p += [
            f"  %a{r}.at = getelementptr i8, ptr %pa, i64 %row{r}",
            f"  %a{r}.0 = load {kind}, ptr %a{r}.at",
        ]
        p.spread(f"%a{r}", kind, f"%a{r}.0")
        p += [f"  %y{r}.{v} = call {vector} @llvm.fma.{p.name}({vector} %a{r}, {vector} %b{v}, "
              f"{vector} %x{r}.{v})" for v in range(vectors)]  # fmt: skip
    p += [
        "  %pa.next = getelementptr i8, ptr %pa, i64 %on",
        "  %pb.next = getelementptr i8, ptr %pb, i64 %next",
        "  %left.next = sub i64 %left, 1",
        "  %more = icmp ne i64 %left.next, 0",
        "  br i1 %more, label %loop, label %done",
        "done:",
    ]
    p += [f"  %z{r}.{v} = phi {vector} [ zeroinitializer, %entry ], [ %y{r}.{v}, %loop ]"
          for r, v in each]  # fmt: skip
    for r, v in each:
        if v == 0:
            p.append(f"  %c{r}.by = mul i64 %crs, {r}")
            p.append(f"  %c{r} = getelementptr {kind}, ptr %c, i64 %c{r}.by")
        p.append(f"  %c{r}.{v} = getelementptr {vector}, ptr %c{r}, i64 {v}")
    p += ["  br i1 %add, label %sum, label %put", "sum:"]
    for r, v in each:
        p.load(f"%old{r}.{v}", f"%c{r}.{v}", masks[v])
        p.append(f"  %new{r}.{v} = fadd {vector} %old{r}.{v}, %z{r}.{v}")
        p.store(f"%new{r}.{v}", f"%c{r}.{v}", masks[v])
    p += ["  ret void", "put:"]
    for r, v in each:
        p.store(f"%z{r}.{v}", f"%c{r}.{v}", masks[v])
    head = (
        f"define internal void @tile.{rows}.{vectors}(i64 %k, ptr %a, i64 %ars, i64 %acs, ptr %b, "
        "i64 %brs, ptr %c, i64 %crs, i64 %lanes, i1 %add) #0 {\nentry:"
    )
    return "\n".join([head, *p, "  ret void\n}"])
