// Updates of a model on a GPU: one launch for the trained elements and the statistics of all buckets, by a
// table among the kernel's arguments. Each is the twin of a loop in workloads/vectors/host_device.cpp, bit
// for bit.
#include "runtime/gpu/kernel_support.cuh"
#include "runtime/gpu/kernels.hpp"

namespace tandem::kernels {
namespace {

// ---- Trained elements ----
// Array 0 of an operation is the model; reads and writes have a bit for each array.

/// Model, gradient.
struct PlainSgd {
  using Element = float;
  static constexpr int arrays = 2;
  static constexpr unsigned reads = 3, writes = 1;
  SgdStep step;
  __device__ void operator()(float (&v)[2]) const {
    v[0] -= step.learning_rate * (step.scale * (step.share * v[1]) + step.weight_decay * v[0]);
  }
};

/// Model, gradient, velocity.
template <bool nesterov>
struct MomentumSgd {
  using Element = float;
  static constexpr int arrays = 3;
  static constexpr unsigned reads = 7, writes = 5;
  SgdStep step;
  __device__ void operator()(float (&v)[3]) const {
    const float g = step.scale * (step.share * v[1]) + step.weight_decay * v[0];
    v[2] = step.momentum * v[2] + g;
    v[0] -= step.learning_rate * (nesterov ? g + step.momentum * v[2] : v[2]);
  }
};

/// Model, gradient, mean, square.
struct AdamOp {
  using Element = float;
  static constexpr int arrays = 4;
  static constexpr unsigned reads = 15, writes = 13;
  AdamStep step;
  __device__ void operator()(float (&v)[4]) const {
    const float kept = step.kept * v[0];
    const float g = step.scale * (step.share * v[1]) + step.weight_decay * kept;
    v[2] = step.beta1 * v[2] + step.new_mean * g;
    v[3] = step.beta2 * v[3] + step.new_square * g * g;
    v[0] = kept - step.rate * v[2] / (step.root * sqrtf(v[3]) + step.epsilon);
  }
};

/// Model, base, sum.
struct MovePlain {
  using Element = float;
  static constexpr int arrays = 3;
  static constexpr unsigned reads = 6, writes = 1;
  float rate;
  __device__ void operator()(float (&v)[3]) const { v[0] = v[1] + rate * v[2]; }
};

/// Model, base, sum, velocity.
struct MoveWithMomentum {
  using Element = float;
  static constexpr int arrays = 4;
  static constexpr unsigned reads = 14, writes = 9;
  MoveStep step;
  __device__ void operator()(float (&v)[4]) const {
    const float change = step.share * v[2];
    v[3] = step.kept * v[3] + change;
    v[0] = v[1] + step.rate * (step.nesterov ? change + step.momentum * v[3] : v[3]);
  }
};

// ---- Statistics, in the arrays of trained elements ----

/// The vectors of statistics are model and gradient; the others do not exist for them.
template <int count>
struct TakeAverage {
  using Element = float;
  static constexpr int arrays = count;
  static constexpr unsigned reads = 2, writes = 1;
  float average;
  __device__ void operator()(float (&v)[count]) const { v[0] = average * v[1]; }
};

/// Model, base, sum, and perhaps a velocity, which statistics do not have.
template <int count>
struct MoveAverage {
  using Element = float;
  static constexpr int arrays = count;
  static constexpr unsigned reads = 6, writes = 1;
  float average;
  __device__ void operator()(float (&v)[count]) const { v[0] = v[1] + average * v[2]; }
};

// ---- Tables ----

/// Elements of the same kind; never none.
struct Part {
  std::int64_t begin;
  std::int64_t count;
  bool is_trained;
};
/// As many parts as the arguments of a kernel, 4 KB, have room for.
constexpr int most_parts = 100;
struct Table {
  Part parts[most_parts];
  std::int64_t tiles[most_parts];  ///< of the parts before this one and of this one
  int count;
};

/// Elements before the first pack of a part, which may have no pack.
template <int width>
__host__ __device__ inline int head_of(const float* array, const Part& part) {
  const int head = before_packs<float, width>(array + part.begin);
  return head < part.count ? head : static_cast<int>(part.count);
}

template <int width, class Op>
__device__ void run_part(const Op& op, const Arrays<Op>& arrays, const Part& part, std::int64_t tile) {
  Arrays<Op> own;
#pragma unroll
  for (int array = 0; array < Op::arrays; ++array) own.at[array] = arrays.at[array] + part.begin;
  const int head = head_of<width>(arrays.at[0], part);
  const std::int64_t packs = (part.count - head) / width;
  run_block<width>(op, own, head, tile * packs_of_tile<Op, width>(), packs);
  if (tile == 0) run_loose<width>(op, own, head, packs, part.count);
}

template <class Step, class Average, int width>
__global__ void __launch_bounds__(block_threads)
    update(Step step, Average average, Arrays<Step> arrays, const __grid_constant__ Table table) {
  const std::int64_t tiles = table.tiles[table.count - 1];
  for (std::int64_t tile = first_tile(); tile < tiles; tile += tile_stride()) {
    const int number = part_of(table, tile);
    const Part part = table.parts[number];
    const std::int64_t own = tile_of_part(table, number, tile);
    if (part.is_trained)
      run_part<width>(step, arrays, part, own);
    else
      run_part<width>(average, arrays, part, own);
  }
}

/// Launches update() for as many parts at a time as a table has room for.
template <class Step, class Average, int width>
class Launches {
 public:
  Launches(cudaStream_t stream, const Step& step, const Average& average, const Arrays<Step>& arrays)
      : stream_(stream), step_(step), average_(average), arrays_(arrays) {}

  void add(const Part& part) {
    if (part.count == 0 || error_ != cudaSuccess) return;
    if (table_.count == most_parts) flush();
    const std::int64_t packs = (part.count - head_of<width>(arrays_.at[0], part)) / width;
    const std::int64_t tile =
        part.is_trained ? packs_of_tile<Step, width>() : packs_of_tile<Average, width>();
    table_.parts[table_.count] = part;
    add_tiles(table_, tiles_of(packs, tile));
  }
  cudaError_t end() {
    flush();
    return error_;
  }

 private:
  void flush() {
    if (table_.count == 0 || error_ != cudaSuccess) return;
    error_ = launch(stream_, table_.tiles[table_.count - 1], update<Step, Average, width>, step_, average_,
                    arrays_, table_);
    table_.count = 0;
  }

  cudaStream_t stream_;
  Step step_;
  Average average_;
  Arrays<Step> arrays_;
  Table table_ = {};
  cudaError_t error_ = cudaSuccess;
};

template <int width, class Step, class Average>
cudaError_t launch_update(cudaStream_t stream, const Step& step, const Average& average,
                          const Arrays<Step>& arrays, const UpdateStretch* stretches, std::size_t count) {
  Launches<Step, Average, width> launches(stream, step, average, arrays);
  Part trained = {0, 0, true};
  for (std::size_t at = 0; at < count; ++at) {
    const UpdateStretch& stretch = stretches[at];
    // Neighbours without statistics between them are one part.
    if (trained.begin + trained.count != stretch.begin) {
      launches.add(trained);
      trained = {stretch.begin, 0, true};
    }
    trained.count += stretch.trained;
    if (stretch.statistics == 0) continue;
    launches.add(trained);
    launches.add({stretch.begin + stretch.trained, stretch.statistics, false});
    trained = {stretch.begin + stretch.trained + stretch.statistics, 0, true};
  }
  launches.add(trained);
  return launches.end();
}

/// In packs of 16 bytes if all arrays are aligned alike.
template <class Step, class Average, class... Pointers>
cudaError_t run_update(cudaStream_t stream, const Step& step, const Average& average,
                       const UpdateStretch* stretches, std::size_t count, Pointers... pointers) {
  constexpr int width = 4;
  static_assert(sizeof...(pointers) == Step::arrays && Step::arrays == Average::arrays, "the same arrays");
  const Arrays<Step> arrays = {{const_cast<float*>(pointers)...}};
  bool alike = true;
  for (const float* array : arrays.at)
    alike = alike && before_packs<float, width>(array) == before_packs<float, width>(arrays.at[0]);
  return alike ? launch_update<width>(stream, step, average, arrays, stretches, count)
               : launch_update<1>(stream, step, average, arrays, stretches, count);
}

}  // namespace

cudaError_t sgd(float* model, const float* gradient, float* velocity, const UpdateStretch* stretches,
                std::size_t count, SgdStep step, cudaStream_t stream) {
  if (velocity == nullptr)
    return run_update(stream, PlainSgd{step}, TakeAverage<2>{step.average}, stretches, count, model,
                      gradient);
  const TakeAverage<3> average{step.average};
  if (step.nesterov)
    return run_update(stream, MomentumSgd<true>{step}, average, stretches, count, model, gradient, velocity);
  return run_update(stream, MomentumSgd<false>{step}, average, stretches, count, model, gradient, velocity);
}

cudaError_t adam(float* model, const float* gradient, float* mean, float* square,
                 const UpdateStretch* stretches, std::size_t count, AdamStep step, cudaStream_t stream) {
  return run_update(stream, AdamOp{step}, TakeAverage<4>{step.average}, stretches, count, model, gradient,
                    mean, square);
}

cudaError_t move(float* model, const float* base, const float* sum, float* velocity,
                 const UpdateStretch* stretches, std::size_t count, MoveStep step, cudaStream_t stream) {
  if (velocity == nullptr)
    return run_update(stream, MovePlain{step.share * step.rate}, MoveAverage<3>{step.average}, stretches,
                      count, model, base, sum);
  return run_update(stream, MoveWithMomentum{step}, MoveAverage<4>{step.average}, stretches, count, model,
                    base, sum, velocity);
}

}  // namespace tandem::kernels
