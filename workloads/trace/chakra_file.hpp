// The nodes of a Chakra execution trace (.et): messages of protocol buffers, each after its length. The first
// is the metadata, the others are nodes (chakra.proto).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "workloads/trace/text_source.hpp"
#include "workloads/trace/trace.hpp"

namespace tandem::trace {

/// A longer duration is read as this one: a day.
inline constexpr Nanoseconds longest_chakra_time = Nanoseconds{86'400} * 1'000'000'000;

/// What a node of Chakra says about a data-parallel job.
struct ChakraNode {
  enum class Type : std::uint32_t { computation = 4, send = 5, receive = 6, collective = 7 };
  static constexpr std::int64_t all_reduce = 0, broadcast = 5;  ///< values of `communication`

  std::uint64_t id = 0;
  std::string name;
  std::uint32_t type = 0;
  std::vector<std::uint64_t> data_dependencies = {};  ///< ids
  Nanoseconds start = 0;                              ///< written, not read
  Nanoseconds duration = 0;                           ///< in files rounded to microseconds
  bool is_of_cpu = false;                             ///< runs concurrently with the GPU
  std::int64_t thread = 0;
  std::optional<std::int64_t> communication = {};  ///< of a collective: its kind
  std::optional<std::int64_t> bytes = {};          ///< that each rank gives to a collective, or of a message
  std::optional<std::int32_t> source = {}, target = {}, tag = {};  ///< of a message; written, not read

  bool is(Type wanted) const { return type == static_cast<std::uint32_t>(wanted); }
};

/// Whether a file begins with the metadata. `first`: at least its first 512 bytes, or all.
bool begins_with_chakra_metadata(std::span<const char> first);

/// Errors: ConfigError for bytes that are not nodes, with the byte; for too many nodes.
std::vector<ChakraNode> read_chakra_nodes(TextSource& source);

/// The bytes of a file of these nodes.
std::string chakra_file_of(std::span<const ChakraNode> nodes);

}  // namespace tandem::trace
