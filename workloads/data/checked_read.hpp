// Reads a sample, tries again after a pause if that fails, and compares the bytes with its checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "policies/vocabulary/units.hpp"
#include "workloads/data/sample_source.hpp"

namespace tandem {

/// How often a sample is read before it counts as bad, and the pauses between the reads. Each pause is four
/// times as long as the one before, so a storage that is away for a moment does no harm.
struct Retries {
  int attempts = 3;
  Seconds pause{0.05};
};

/// The checksum of manifests (CRC-32) of a sample's stored bytes.
std::uint32_t checksum_of(std::span<const std::byte> stored);
/// A checksum of bytes that this process wrote itself, which takes a fraction of the time: a change of one
/// of their 8-byte words always changes its 64 bits, of which 32 are kept.
std::uint32_t quick_checksum(std::span<const std::byte> bytes);
/// The difference in words; none: they are equal.
std::optional<std::string> difference_of(std::uint32_t expected, std::uint32_t found);
/// Calls `read` until it throws no WorldError. Returns the last error if all attempts failed; none: it was
/// read.
std::optional<std::string> try_again(const std::function<void()>& read, const Retries& retries = {});
/// Reads the sample into `target`. Returns what is wrong, with its place, and what was expected and found;
/// none: it was read and is what its data set says. May be called by several threads at the same time.
std::optional<std::string> read_checked(const SampleSource& source, SampleId id, std::span<std::byte> target,
                                        const Retries& retries = {});

}  // namespace tandem
