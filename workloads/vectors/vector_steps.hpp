// Parameters of the arithmetic over flat vectors, shared by the processor's loops and by CUDA kernels. Plain
// structs that C++17 understands, since CUDA sources are compiled as that.
#pragma once

#include <cstdint>

namespace tandem {

/// A stretch of the vectors of one update: first elements that are trained, then running statistics. Trained
/// elements take the step. A statistic becomes `average` times the gradient's, or in a MoveStep
/// base + average * sum.
struct UpdateStretch {
  std::int64_t begin;  ///< first element, in every vector
  std::int64_t trained;
  std::int64_t statistics;
};

/// Copies one vector to another in the memory of the same device. With `rows`, each rows * columns elements
/// are a matrix, row after row, that arrives transposed: column after column.
struct FloatCopy {
  float* to;
  const float* from;
  std::int64_t count;
  std::int64_t rows = 0;  ///< 0: the elements arrive as they are
  std::int64_t columns = 0;
};

/// values * factor, as part of a sum.
struct Term {
  const float* values;
  float factor;
};

/// g = scale * (share * gradient) + weight_decay * model; v = momentum * v + g; model -= learning_rate * v,
/// or with Nesterov's momentum learning_rate * (g + momentum * v). Source: see Sgd
/// (workloads/model/optimizer.hpp).
struct SgdStep {
  float scale;
  float learning_rate;
  float momentum;
  float weight_decay;
  bool nesterov;
  float share = 1.0F;    ///< that makes a sum of gradients their mean
  float average = 1.0F;  ///< see UpdateStretch
};

/// kept = this.kept * model; g = scale * (share * gradient) + weight_decay * kept; m = beta1 m + new_mean g;
/// s = beta2 s + new_square g g; model = kept - rate m / (root sqrt(s) + epsilon). Source: see Adam.
struct AdamStep {
  float scale;
  float kept;          ///< share of the model that remains after decoupled decay
  float weight_decay;  ///< that goes through the moments
  float beta1;
  float beta2;
  float new_mean;    ///< 1 - beta1
  float new_square;  ///< 1 - beta2
  float rate;        ///< learning rate over the correction of the mean
  float root;        ///< one over the root of the correction of the squares
  float epsilon;
  float share = 1.0F;    ///< that makes a sum of gradients their mean
  float average = 1.0F;  ///< see UpdateStretch
};

/// gradient += strength * gradient^2 * (model - older), where strength is lambda, or adaptive:
/// lambda / sqrt(mean + smallest_mean_square) with mean = memory * mean + (1 - memory) * gradient^2.
/// Source: Zheng et al., ICML 2017 (DC-ASGD-c, DC-ASGD-a).
struct CompensationStep {
  float lambda;
  float memory;
};
/// Keeps the adaptive strength finite.
constexpr float smallest_mean_square = 1e-7F;

/// Without momentum: model = base + (share * rate) * sum. With: change = share * sum;
/// v = kept * v + change; model = base + rate * v, or with Nesterov's rate * (change + momentum * v).
/// Source: see ChangeUpdate (workloads/model/update_rules.hpp).
struct MoveStep {
  float share;  ///< factor that makes the sum a mean
  float rate;
  float kept;  ///< share of the velocity that stays
  float momentum;
  bool nesterov;
  float average = 1.0F;  ///< see UpdateStretch
};

/// Numbers of 16 bits, rounded to nearest, ties to even; finite numbers stay finite
/// (policies/compression/half.hpp).
enum class HalfFormat : std::uint8_t { fp16, bf16 };

}  // namespace tandem
