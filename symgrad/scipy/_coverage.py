"""What becomes of SciPy's functions that have no version for traced values, and why.

Rows of a module's table: whether its functions are passed or refused, the reason, and their
names; ``*`` stands for all others. ``docs/build_coverage.py`` prints it, errors say it.
"""

from __future__ import annotations

from collections.abc import Callable

PASSED, REFUSED = "passed", "refused"

_TEST = "gives ranks, counts and p-values of data: outside of traced code"
_DISTRIBUTION = "has no closed form here: sg.pure_callback, or its formula in NumPy"
_DATA = "decides on values, by sorting or searching: outside of traced code"
_PEAKS = (
    "how many peaks there are depends on values: find their places outside, places = "
    "find_peaks(x)[0], and give them as an argument; x[places], np.max and np.argmax are traced"
)

FATES: dict[str, list[tuple[str, str, str]]] = {
    "integrate": [
        (PASSED, "makes a rule's constants", "newton_cotes lebedev_rule"),
        (REFUSED, "steps of IDA, outside of traced code", "solve_dae"),
        (REFUSED, "solve_ivp and odeint are traced", """
            ode complex_ode OdeSolver DenseOutput OdeSolution RK23 RK45 DOP853 Radau
            BDF LSODA
        """),
        (REFUSED, "quad, quad_vec, nquad, tanhsinh and fixed_quad are traced", "*"),
    ],
    "interpolate": [
        (PASSED, "makes knots and coefficients outside; splev and BSpline are traced", """
            splprep make_smoothing_spline make_splrep
            make_splprep generate_knots bisplrep
        """),
        (REFUSED, "griddata, RBFInterpolator and RegularGridInterpolator are traced", """
            CloughTocher2DInterpolator Rbf interp2d NdBSpline NdPPoly
        """),
        (REFUSED, "BSpline and PPoly are traced, with derivative and antiderivative", "*"),
    ],
    "linalg": [
        (PASSED, "makes constants, or says what there is", """
            LinAlgError LinAlgWarning bandwidth dft fiedler_companion find_best_blas_type
            get_blas_funcs get_lapack_funcs hadamard helmert hilbert invhilbert invpascal
            ishermitian issymmetric pascal
        """),
        (REFUSED, "of a symmetric matrix: w, v = np.linalg.eigh(a); (v * f(w)) @ v.T", """
            signm funm
        """),
        (REFUSED, "np.linalg.solve and solve_triangular share the factors", """
            lu ldl cholesky_banded cho_solve_banded
        """),
        (REFUSED, "np.linalg.eigh, of the full matrix", """
            eig_banded eigvals_banded
        """),
        (REFUSED, "np.linalg.svd gives its vectors", """
            null_space orth subspace_angles cossin diagsvd
        """),
        (REFUSED, "np.linalg.qr, eigh, eig and svd are traced", "*"),
    ],
    "fft": [
        (PASSED, "is about settings or sizes", """
            fhtoffset set_backend skip_backend set_global_backend register_backend
            get_workers set_workers
        """),
    ],
    "optimize": [
        (PASSED, "says something to a solver, or what it found", """
            BFGS SR1 HessianUpdateStrategy Bounds LinearConstraint OptimizeResult
            RootResults show_options LbfgsInvHessProduct InverseJacobian
            KrylovJacobian BroydenFirst
        """),
        (REFUSED, "minimize is traced", """
            fmin_cobyla fmin_powell fmin_slsqp fmin_tnc golden bracket line_search
        """),
        (REFUSED, "root and root_scalar are traced", """
            anderson broyden1 broyden2 diagbroyden excitingmixing linearmixing
            newton_krylov
        """),
        (REFUSED, "sg.grad gives the derivative", """
            check_grad rosen_der rosen_hess rosen_hess_prod
        """),
        (REFUSED, "sg.implicit_root and sg.implicit_minimum differentiate what it finds", "*"),
    ],
    "signal": [
        (PASSED, "designs a filter or a window of numbers", """
            bessel besselap buttap butter buttord cheb1ap cheb1ord cheb2ap cheb2ord
            cheby1 cheby2 ellip ellipap ellipord firls firwin firwin2 firwin_2d
            gammatone get_window iircomb iirdesign iirfilter iirnotch iirpeak
            kaiser_atten kaiser_beta kaiserord max_len_seq minimum_phase
            remez savgol_coeffs sosfilt_zi unit_impulse band_stop_obj findfreqs
        """),
        (PASSED, "is about sizes", """
            correlation_lags check_COLA check_NOLA choose_conv_method
            closest_STFT_dual_window czt_points
        """),
        (REFUSED, _PEAKS, """
            argrelextrema argrelmax argrelmin find_peaks find_peaks_cwt
            peak_prominences peak_widths
        """),
        (REFUSED, _DATA, """
            order_filter wiener unique_roots residue residuez invres invresz
        """),
        (REFUSED, "systems in continuous time: solve_ivp, or cont2discrete and a loop", """
            lsim impulse step bode dbode dfreqresp dimpulse dlsim dlti dstep
            freqresp lti StateSpace TransferFunction ZerosPolesGain place_poles
        """),
        (REFUSED, "its parts are traced: np.fft, convolve, lfilter, np.polyval", "*"),
    ],
    "ndimage": [
        (PASSED, "makes structures of numbers", """
            generate_binary_structure iterate_structure
        """),
        (REFUSED, "is about labels, masks and ranks, which have no derivative", """
            label find_objects value_indices labeled_comprehension histogram
            watershed_ift binary_closing binary_dilation binary_erosion
            binary_fill_holes binary_hit_or_miss binary_opening binary_propagation
            distance_transform_bf distance_transform_cdt distance_transform_edt
            extrema maximum_position minimum_position rank_filter
            percentile_filter median
        """),
        (REFUSED, "calls a function for each window: a vmap over windows of np.pad", """
            generic_filter generic_filter1d generic_gradient_magnitude
            generic_laplace vectorized_filter geometric_transform
        """),
        (REFUSED, "np.max(np.where(labels == k, image, -np.inf)) of region k, np.min likewise", """
            maximum minimum
        """),
        (REFUSED, "map_coordinates and correlate are traced", "*"),
    ],
    "spatial": [
        (REFUSED, "compares points: outside of traced code; distances are traced", "*"),
    ],
    "spatial.distance": [
        (PASSED, "is about sizes", """
            num_obs_dm num_obs_y is_valid_dm is_valid_y
        """),
        (REFUSED, "is of booleans or of whole sets", "*"),
    ],
    "spatial.transform": [
        (REFUSED, "Rotation is traced", "*"),
    ],
    "sparse": [
        (PASSED, "reads, writes, tells types or draws numbers", """
            load_npz save_npz isspmatrix isspmatrix_bsr isspmatrix_coo
            isspmatrix_csc isspmatrix_csr isspmatrix_dia isspmatrix_dok
            isspmatrix_lil get_index_dtype safely_cast_index_arrays rand random
            random_array
        """),
        (REFUSED, "coo_array, csr_array and csc_array are traced", "*"),
    ],
    "sparse.linalg": [
        (PASSED, "is about places alone", "spbandwidth is_sptriangular use_solver"),
        (REFUSED, "np.linalg.lstsq of .toarray() is traced", "lsmr lsqr"),
        (REFUSED, "iterates to a tolerance: spsolve and splu are traced", "spilu"),
        (REFUSED, "np.linalg of .toarray() is traced", "*"),
    ],
    "special": [
        (PASSED, "makes numbers or polynomials of integers", """
            ai_zeros bei_zeros beip_zeros ber_zeros bernoulli berp_zeros bi_zeros c_roots
            cg_roots chebyc chebys chebyt chebyu ellip_harm ellip_harm_2 ellip_normal erf_zeros
            errstate euler factorialk fresnel_zeros fresnelc_zeros fresnels_zeros gegenbauer
            genlaguerre geterr h_roots he_roots hermite hermitenorm j_roots jacobi jn_zeros
            jnjnp_zeros jnp_zeros jnyn_zeros js_roots kei_zeros keip_zeros kelvin_zeros
            ker_zeros kerp_zeros l_roots la_roots laguerre legendre mathieu_even_coef
            mathieu_odd_coef obl_cv_seq p_roots pro_cv_seq ps_roots roots_chebyc roots_chebys
            roots_chebyt roots_chebyu roots_gegenbauer roots_genlaguerre roots_hermite
            roots_hermitenorm roots_jacobi roots_laguerre roots_legendre roots_sh_chebyt
            roots_sh_chebyu roots_sh_jacobi roots_sh_legendre s_roots seterr sh_chebyt sh_chebyu
            sh_jacobi sh_legendre stirling2 t_roots ts_roots u_roots us_roots y0_zeros y1_zeros
            y1p_zeros yn_zeros ynp_zeros
        """),
        (REFUSED, "lpmv and eval_legendre are traced, of known degrees and orders", """
            assoc_laguerre assoc_legendre_p assoc_legendre_p_all legendre_p legendre_p_all lqmn lqn
            sph_harm_y_all sph_legendre_p sph_legendre_p_all
        """),
        (REFUSED, "sg.implicit_root of the distribution function, which is traced, inverts it", """
            bdtri bdtrik bdtrin btdtria btdtrib chdtriv fdtridfd gdtria gdtrib nbdtri nbdtrik
            nbdtrin nrdtrimn nrdtrisd pdtri pdtrik stdtridf
        """),
        (REFUSED, "no derivative of it is known here: sg.custom_jvp, or sg.pure_callback", "*"),
    ],
    "stats": [
        (PASSED, "draws or describes random things outside of traced code", """
            rv_continuous rv_discrete rv_histogram make_distribution Mixture Normal
            Uniform Logistic Binomial CensoredData Covariance BootstrapMethod
            MonteCarloMethod PermutationMethod ortho_group special_ortho_group
            unitary_group random_correlation random_table uniform_direction truncate
            abs exp log order_statistic
        """),
        (REFUSED, _DISTRIBUTION, """
            alpha anglit argus betanbinom boltzmann cosine dirichlet_multinomial
            dpareto_lognorm exponpow foldcauchy gausshyper genexpon genhalflogistic
            genhyperbolic geninvgauss halfgennorm invwishart irwinhall jf_skew_t
            kappa3 kappa4 ksone kstwo kstwobign landau levy_l levy_stable loglaplace
            matrix_normal matrix_t mielke multivariate_hypergeom ncf
            nchypergeom_fisher nchypergeom_wallenius nct ncx2 nhypergeom
            normal_inverse_gamma planck poisson_binom powerlognorm powernorm rdist
            recipinvgauss rel_breitwigner studentized_range trapezoid
            truncweibull_min tukeylambda vonmises_fisher vonmises_line wrapcauchy
            yulesimon zipf zipfian
        """),
        (REFUSED, _TEST, "*"),
    ],
}  # fmt: skip


def fate(module: str, name: str) -> tuple[str, str]:
    """Return what becomes of a function, and why."""
    for kind, why, names in FATES[module]:
        if names == "*" or name in names.split():
            return kind, why
    raise KeyError(name)


def reasons(module: str) -> Callable[[str], str]:
    """Return why functions of a module refuse traced values, as a function of their names."""
    return lambda name: fate(module, name)[1]
