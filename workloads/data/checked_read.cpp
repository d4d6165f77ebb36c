#include "workloads/data/checked_read.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <chrono>
#include <thread>

#include "policies/vocabulary/check.hpp"

namespace tandem {

std::uint32_t checksum_of(std::span<const std::byte> stored) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(stored.data()), stored.size()));
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
    const auto expected = source.checksum(id);
    if (!expected) return;
    const std::uint32_t found = checksum_of(target);
    if (found != *expected)
      throw WorldError(
          fmt::format("expected the checksum {:08x} of its data set, found {:08x}", *expected, found));
  };
  const auto wrong = try_again(read, retries);
  if (!wrong) return std::nullopt;
  return fmt::format("sample {} ({}): {}, in {} attempts", id, source.name(id), *wrong, retries.attempts);
}

}  // namespace tandem
