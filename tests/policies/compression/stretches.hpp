// Shared by the tests of compressions: stretches with given shapes, values for them, and messages.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "policies/compression/codec.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::compression {

/// Rows and columns of each part.
using Shapes = std::vector<std::pair<std::int64_t, std::int64_t>>;

inline Stretch stretch_with(const Shapes& shapes, std::int64_t position = 0) {
  Stretch stretch{position, 0, {}};
  for (const auto& [rows, columns] : shapes) {
    stretch.parts.push_back({stretch.elements, rows, columns});
    stretch.elements += rows * columns;
  }
  return stretch;
}

inline Options options_of(const std::string& method, const std::map<std::string, OptionValue>& given = {}) {
  return Options::resolve(method, catalog().find(method).options, given);
}

inline std::unique_ptr<Codec> make(const std::string& method, const Shapes& shapes,
                                   const std::map<std::string, OptionValue>& given = {}, int worker = 0,
                                   std::uint64_t seed = 1) {
  return catalog().find(method).make.make({.stretch = stretch_with(shapes),
                                           .options = options_of(method, given),
                                           .seed = seed,
                                           .worker = worker});
}

inline std::vector<float> random_values(std::int64_t elements, Rng& random) {
  std::vector<float> values(static_cast<std::size_t>(elements));
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

inline std::vector<std::byte> encoded(Codec& codec, const std::vector<float>& values,
                                      std::int64_t exchange = 0) {
  std::vector<std::byte> message(static_cast<std::size_t>(codec.message_bytes()));
  codec.encode(values, exchange, message);
  return message;
}

inline std::vector<float> decoded(Codec& codec, const std::vector<std::byte>& message, std::size_t elements,
                                  std::int64_t exchange = 0) {
  std::vector<float> values(elements, -77.0F);
  codec.decode(message, exchange, values);
  return values;
}

inline std::vector<float> sent(Codec& codec, const std::vector<float>& values, std::int64_t exchange = 0) {
  return decoded(codec, encoded(codec, values, exchange), values.size(), exchange);
}

inline double square(const std::vector<float>& values) {
  double sum = 0.0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return sum;
}

/// Names of the catalogue entries that compress.
inline std::vector<std::string> methods() {
  std::vector<std::string> names;
  for (const auto& entry : catalog().entries())
    if (entry.make.make != nullptr) names.push_back(entry.name);
  return names;
}

}  // namespace tandem::compression
