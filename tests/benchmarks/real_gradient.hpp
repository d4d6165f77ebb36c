// The gradient of a network, as benchmarks of compressions need it.
#pragma once

#include <functional>
#include <vector>

namespace tandem {

/// Calculates, on the processor, the gradient of a ResNet-18 after some steps on synthetic images. Empty in a
/// build without libtorch.
std::function<std::vector<float>()> real_gradient();

}  // namespace tandem
