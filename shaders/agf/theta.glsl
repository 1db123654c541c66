// How coefficients are computed from raw parameters; numbered as filtra_theta_mode, where 0 is tanh
// with theta_0 fixed to 1.
const uint theta_tanh = 1, theta_raw = 2;
