// The three passes over people as CUDA kernels; engine/device.py has the same three as array programs, and says what they compute.
// LANES neighbouring threads serve one person, each four columns (a float4) of every row: rows of a table are read and added to whole.
// FOLD_LANES is a power of two, because a group of threads sums over its lanes by shuffles.

typedef long long i64;

__device__ __forceinline__ void add4(float4* to, float4 v) {
#if __CUDA_ARCH__ >= 900
    atomicAdd(to, v);
#else
    float* cell = reinterpret_cast<float*>(to);
    atomicAdd(cell, v.x); atomicAdd(cell + 1, v.y); atomicAdd(cell + 2, v.z); atomicAdd(cell + 3, v.w);
#endif
}

// out[code] += 1 for every row. A block counts in its own shared memory, then adds that to the whole.
extern "C" __global__ void count_pairs(const int* pair, const i64 n_rows, const int n_codes, unsigned int* out) {
    extern __shared__ unsigned int counts[];
    for (int code = threadIdx.x; code < n_codes; code += blockDim.x) counts[code] = 0;
    __syncthreads();
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < n_rows; row += step) atomicAdd(counts + pair[row], 1u);
    __syncthreads();
    for (int code = threadIdx.x; code < n_codes; code += blockDim.x)
        if (counts[code]) atomicAdd(out + code, counts[code]);
}

// out[code] += c_m w s for every row of person m, where s = sum over their rows of w W[code].
extern "C" __global__ void signed_pass(const i64* starts, const int* pair, const float* weight, const float* scale,
                                       const float4* W, float4* out, const int n_people) {
    const int people_a_block = blockDim.x / LANES, lane = threadIdx.x % LANES;
    const i64 m = (i64)blockIdx.x * people_a_block + threadIdx.x / LANES;
    if (threadIdx.x >= people_a_block * LANES || m >= n_people) return;
    const float c = scale[m];
    if (c == 0.0f) return;
    const i64 first = starts[m], last = starts[m + 1];
    float4 s = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 4
    for (i64 row = first; row < last; row++) {
        const float w = weight ? weight[row] : 1.0f;
        const float4 v = W[(i64)pair[row] * LANES + lane];
        s.x += w * v.x; s.y += w * v.y; s.z += w * v.z; s.w += w * v.w;
    }
    s.x *= c; s.y *= c; s.z *= c; s.w *= c;
#pragma unroll 4
    for (i64 row = first; row < last; row++) {
        const float w = weight ? weight[row] : 1.0f;
        add4(out + (i64)pair[row] * LANES + lane, make_float4(w * s.x, w * s.y, w * s.z, w * s.w));
    }
}

// psi(x) for x > 0: recurrence up to 6, then the asymptotic series.
__device__ double digamma(double x) {
    double shift = 0.0;
    while (x < 6.0) { shift -= 1.0 / x; x += 1.0; }
    const double i = 1.0 / (x * x);
    return shift + log(x) - 0.5 / x - i * (1.0 / 12 - i * (1.0 / 120 - i * (1.0 / 252 - i * (1.0 / 240 - i / 132))));
}

__device__ __forceinline__ float group_sum(float v, unsigned mask) {
#pragma unroll
    for (int o = FOLD_LANES / 2; o > 0; o /= 2) v += __shfl_xor_sync(mask, v, o);
    return v;
}

__device__ __forceinline__ double group_sum(double v, unsigned mask) {
#pragma unroll
    for (int o = FOLD_LANES / 2; o > 0; o /= 2) v += __shfl_xor_sync(mask, v, o);
    return v;
}

__device__ __forceinline__ float dot(float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }

// One variational E-step: gamma of each person by fixed-point steps, expected counts (codes, K), the bound and the sums of E log theta.
extern "C" __global__ void fold(const i64* starts, const int* pair, const float* weight, const float* user_weight,
                                const float4* table, const float* alpha, float* gamma, float4* counts, double* bound, double* sums,
                                const int n_people, const int K, const int inner, const int fresh) {
    const int lane = threadIdx.x % FOLD_LANES;
    const unsigned mask = FOLD_LANES == 32 ? 0xffffffffu : ((1u << FOLD_LANES) - 1u) << ((threadIdx.x % 32) / FOLD_LANES * FOLD_LANES);
    const i64 groups = (i64)gridDim.x * (blockDim.x / FOLD_LANES);
    double own_bound = 0.0, own_sums[4] = {0.0, 0.0, 0.0, 0.0}, people = 0.0;
    for (i64 m = (i64)blockIdx.x * (blockDim.x / FOLD_LANES) + threadIdx.x / FOLD_LANES; m < n_people; m += groups) {
        const i64 first = starts[m], last = starts[m + 1];
        const float u = user_weight ? user_weight[m] : 1.0f;
        float size = 0.0f, g[4], e_log[4], scale[4];
        if (fresh) {
            for (i64 row = first + lane; row < last; row += FOLD_LANES) size += weight ? weight[row] : 1.0f;
            size = group_sum(size, mask);
        }
        for (int j = 0; j < 4; j++) {
            const int k = 4 * lane + j;
            g[j] = k >= K ? 0.0f : fresh ? alpha[k] + size / K : gamma[m * K + k];
        }
        double total = 0.0;
        for (int step = 0;; step++) {
            total = group_sum((double)g[0] + g[1] + g[2] + g[3], mask);
            const double psi_total = digamma(total);
            for (int j = 0; j < 4; j++) {
                e_log[j] = 4 * lane + j < K ? (float)(digamma((double)g[j]) - psi_total) : -1e30f;
                scale[j] = expf(e_log[j]);
            }
            if (step == inner) break;
            const float4 s = make_float4(scale[0], scale[1], scale[2], scale[3]);
            float4 h = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 4
            for (i64 row = first; row < last; row++) {
                const float4 b = table[(i64)pair[row] * FOLD_LANES + lane];
                const float r = (weight ? weight[row] : 1.0f) / group_sum(dot(b, s), mask);
                h.x += r * b.x; h.y += r * b.y; h.z += r * b.z; h.w += r * b.w;
            }
            const float share[4] = {h.x, h.y, h.z, h.w};
            for (int j = 0; j < 4; j++)
                if (4 * lane + j < K) g[j] = alpha[4 * lane + j] + scale[j] * share[j];
        }
        const float4 s = make_float4(scale[0], scale[1], scale[2], scale[3]);
        float log_likelihood = 0.0f;
#pragma unroll 4
        for (i64 row = first; row < last; row++) {
            const i64 cell = (i64)pair[row] * FOLD_LANES + lane;
            const float4 b = table[cell];
            const float t = group_sum(dot(b, s), mask), w = u * (weight ? weight[row] : 1.0f), r = w / t;
            log_likelihood += w * logf(t);
            add4(counts + cell, make_float4(r * s.x * b.x, r * s.y * b.y, r * s.z * b.z, r * s.w * b.w));
        }
        double prior = 0.0;
        for (int j = 0; j < 4; j++) {
            const int k = 4 * lane + j;
            if (k >= K) continue;
            gamma[m * K + k] = g[j];
            prior += ((double)alpha[k] - g[j]) * e_log[j] + lgamma((double)g[j]);
            own_sums[j] += (double)u * e_log[j];
        }
        own_bound += u * prior;
        if (lane == 0) {
            own_bound += (double)log_likelihood - u * lgamma(total);
            people += u;
        }
    }
    atomicAdd(bound, own_bound);
    for (int j = 0; j < 4; j++)
        if (4 * lane + j < K) atomicAdd(sums + 4 * lane + j, own_sums[j]);
    if (lane == 0) atomicAdd(sums + K, people);
}

// What a card can gather: every group of LANES threads reads rows of the table by a number that is as good as random, and sums them.
extern "C" __global__ void gather_rate(const float4* table, const unsigned int n_rows, const int rounds, float4* out) {
    const int lane = threadIdx.x % LANES, group = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    unsigned int x = 2654435761u * (group + 1u);
    float4 s = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 4
    for (int i = 0; i < rounds; i++) {
        x = x * 1664525u + 1013904223u;
        const float4 v = table[(i64)__umulhi(x, n_rows) * LANES + lane];
        s.x += v.x; s.y += v.y; s.z += v.z; s.w += v.w;
    }
    if (s.x == -1.0f) out[0] = s;  // never: it keeps the sum from being left out
}
