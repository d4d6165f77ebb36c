// The form `roofline`: the time of a step as a sum over the layers of the network. Pure.
// Sources: Williams, Waterman, Patterson: Roofline. CACM 52(4), 2009; Qi, Sparks, Talwalkar: Paleo. ICLR
// 2017 (sums over layers, with shares of the peak that are fitted).
#pragma once

#include <vector>

#include "policies/estimates/forms.hpp"

namespace tandem::estimates {

/// Pre: layers.
double seconds_of(const LayerTimes& times, const std::vector<LayerDemand>& layers);

/// One rate of flops, one of bytes, one time per launch and a constant for all points, none below 0, by
/// relative errors: for each ratio of the two rates the others follow from non-negative least squares, so the
/// ratio alone is searched, on a grid and then between the neighbours of its best value.
FormResult fit_roofline(const std::vector<FormPoint>& points);

}  // namespace tandem::estimates
