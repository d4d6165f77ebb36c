// The form `svr`: support vector regression. Pure; libsvm fits, predictions need no library.
// Sources: Drucker, Burges, Kaufman, Smola, Vapnik: Support vector regression machines. NIPS 1996; Chang,
// Lin: LIBSVM. ACM TIST 2(3), 2011; Varma, Simon: Bias in error estimation when using cross-validation for
// model selection. BMC Bioinformatics 7, 2006 (the grid is searched inside the fold).
#pragma once

#include <vector>

#include "policies/estimates/forms.hpp"

namespace tandem::estimates {

/// Of logarithms of features, scaled from 0 to 1, to logarithms of times, with a Gaussian kernel. Cost, width
/// of the kernel and tolerance are those of a grid with the least mean error over folds of these points'
/// groups. Points of a group with equal features count as their median. In a build without libsvm it fits
/// nothing, and says so.
FormResult fit_support_vectors(const std::vector<FormPoint>& points);

}  // namespace tandem::estimates
