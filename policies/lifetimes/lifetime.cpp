#include "policies/lifetimes/lifetime.hpp"

namespace tandem::lifetimes {

double Lifetime::draw(Rng& rng, double) const { return time_of_survival(1.0 - rng.uniform()); }

}  // namespace tandem::lifetimes
