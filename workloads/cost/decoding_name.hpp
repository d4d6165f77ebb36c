// The name under which a profile has the times of decoding images for a model: those on several threads are
// apart.
#pragma once

#include <fmt/format.h>

#include <string>

namespace tandem {

inline std::string decoding_name(const std::string& measured_name, int threads) {
  return threads == 1 ? measured_name : fmt::format("{} ({} decoding threads)", measured_name, threads);
}

}  // namespace tandem
