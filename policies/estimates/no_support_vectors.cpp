// In place of support_vectors.cpp in a build without libsvm.
#include "policies/estimates/support_vectors.hpp"

namespace tandem::estimates {

FormResult fit_support_vectors(const std::vector<FormPoint>&) {
  return {std::nullopt, "this program was built without libsvm"};
}

}  // namespace tandem::estimates
