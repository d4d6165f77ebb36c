// How learning rate and batch follow the number of workers that are present. Pure arithmetic.
#pragma once

#include <cstdint>
#include <vector>

#include "policies/vocabulary/choices.hpp"

namespace tandem::recovery {

/// The factor on the learning rate for `members` of `workers`; 1 if all are present. Pre: both at least 1.
/// Source: linear: Goyal et al., "Accurate, Large Minibatch SGD", 2017; inverse_sqrt, for asynchronous
/// training: Li, Walls, Guo, ICDCS 2020.
double rate_factor(RateScale rule, int workers, int members);

/// Shape: samples per step of each member, in the order of their slots. keep: `batch` each; global: as evenly
/// as possible, larger shares first, together workers * batch. Pre: all at least 1. With more members than
/// samples, the last members have none.
std::vector<std::int64_t> batches(BatchRule rule, std::int64_t batch, int workers, int members);

}  // namespace tandem::recovery
