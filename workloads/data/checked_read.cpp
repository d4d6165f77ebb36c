#include "workloads/data/checked_read.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <thread>

#include "policies/vocabulary/check.hpp"

namespace tandem {

std::uint32_t checksum_of(std::span<const std::byte> stored) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(stored.data()), stored.size()));
}

std::uint32_t quick_checksum(std::span<const std::byte> bytes) {
  // Odd, so that products differ where factors do.
  constexpr std::uint64_t factor = 0x9e3779b97f4a7c15U;
  constexpr std::size_t width = sizeof(std::uint64_t);
  std::array<std::uint64_t, 4> lanes = {1, 2, 3, 4};
  const auto add = [](std::uint64_t& lane, std::uint64_t word) {
    lane = std::rotl((lane ^ word) * factor, 31);
  };
  // The lanes do not wait for each other.
  std::size_t at = 0;
  for (; at + lanes.size() * width <= bytes.size(); at += lanes.size() * width) {
    std::array<std::uint64_t, 4> words;
    std::memcpy(words.data(), bytes.data() + at, sizeof(words));
    for (std::size_t i = 0; i < lanes.size(); ++i) add(lanes[i], words[i]);
  }
  std::uint64_t sum = bytes.size();
  for (; at < bytes.size(); at += width) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(width, bytes.size() - at));
    add(sum, word);
  }
  for (const std::uint64_t lane : lanes) add(sum, lane);
  return static_cast<std::uint32_t>(sum ^ (sum >> 32U));
}

std::optional<std::string> difference_of(std::uint32_t expected, std::uint32_t found) {
  if (found == expected) return std::nullopt;
  return fmt::format("expected the checksum {:08x} of its data set, found {:08x}", expected, found);
}

std::optional<std::string> try_again(const std::function<void()>& read, const Retries& retries) {
  std::optional<std::string> wrong;
  Seconds pause = retries.pause;
  for (int attempt = 1; attempt <= retries.attempts; ++attempt, pause = pause * 4.0) {
    try {
      read();
      return std::nullopt;
    } catch (const WorldError& error) {
      wrong = error.what();
    }
    if (attempt < retries.attempts) std::this_thread::sleep_for(std::chrono::duration<double>(pause.count()));
  }
  return wrong;
}

std::optional<std::string> read_checked(const SampleSource& source, SampleId id, std::span<std::byte> target,
                                        const Retries& retries) {
  const auto read = [&] {
    source.read(id, target);
    if (const auto difference = source.difference(id, target)) throw WorldError(*difference);
  };
  const auto wrong = try_again(read, retries);
  if (!wrong) return std::nullopt;
  return fmt::format("sample {} ({}): {}, in {} attempts", id, source.name(id), *wrong, retries.attempts);
}

}  // namespace tandem
