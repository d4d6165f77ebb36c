// Losses of samples for modelled mathematics: seeded, with the shape of those of a training, but of no
// model. They let importance policies be simulated; they do not predict accuracy.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "policies/vocabulary/rng.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem {

/// The losses after epoch `epoch` (from 0): each sample has a difficulty, drawn from an exponential
/// distribution whose mean is the loss of a uniform guess among ten classes; losses fall as 1 / sqrt(1 +
/// epoch), and differ from that by a log-normal factor (sigma 0.5) drawn in each epoch.
inline void modelled_losses(std::uint64_t seed, std::int64_t epoch, std::span<float> losses) {
  constexpr double of_a_guess = 2.302585, deviation = 0.5;
  Rng difficulty = Rng::stream(seed, "difficulty");
  Rng noise = Rng::stream(seed, "loss noise", static_cast<std::uint64_t>(epoch));
  const double decay = 1.0 / std::sqrt(1.0 + static_cast<double>(epoch));
  for (float& loss : losses) {
    const double base = -of_a_guess * std::log(1.0 - difficulty.uniform());
    loss = static_cast<float>(base * decay * std::exp(deviation * noise.normal()));
  }
}

}  // namespace tandem
