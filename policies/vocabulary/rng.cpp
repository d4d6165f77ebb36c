#include "policies/vocabulary/rng.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numbers>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/policy_state.hpp"

namespace tandem {
namespace {

std::uint64_t split_mix(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

Rng::Rng(std::uint64_t seed) {
  for (auto& word : state_) word = split_mix(seed);
}

Rng Rng::stream(std::uint64_t seed, std::string_view purpose, std::uint64_t index) {
  std::uint64_t mixed = 0xcbf29ce484222325ULL;  // FNV-1a of the purpose
  for (const char letter : purpose) mixed = (mixed ^ static_cast<unsigned char>(letter)) * 0x100000001b3ULL;
  std::uint64_t state = seed;
  mixed ^= split_mix(state);
  state = mixed + index;
  return Rng(split_mix(state));
}

std::uint64_t Rng::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Rng::below(std::uint64_t bound) {
  __extension__ using Wide = unsigned __int128;
  const std::uint64_t threshold = (0 - bound) % bound;
  while (true) {
    const Wide product = static_cast<Wide>(next()) * bound;
    if (static_cast<std::uint64_t>(product) >= threshold) return static_cast<std::uint64_t>(product >> 64);
  }
}

double Rng::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

double Rng::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

void Rng::serialise(PolicyState& state, const std::string& name) {
  state.column(name, state_, std::identity());
  if (std::ranges::all_of(state_, [](std::uint64_t word) { return word == 0; }))
    throw ConfigError("policy state: expected '" + name + "' not to be all zero");
}

}  // namespace tandem
