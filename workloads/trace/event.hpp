// One event of a trace as it is in the file, while it is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "workloads/trace/decimal_time.hpp"

namespace tandem::trace {

/// The parts of an event that are read; all others are skipped.
enum class Field : std::uint8_t {
  other,
  args,
  phase,
  category,
  name,
  process,
  thread,
  time,
  duration,
  // Below "args".
  stream,
  device,
  correlation,
  bytes,
  grid,
  block,
  number,
  sequence,
  forward_thread,
  shapes,
  types,
  collective,
  in_elements,
  out_elements,
  dtype,
  group,
  group_size,
  collective_sequence
};

/// `in_args`: the key stands below "args".
Field field_of(const std::string& key, bool in_args);

enum class Category : std::uint8_t { other, host, device, launch, python };

/// Accepts the names of 2021 ("Kernel", "Runtime", "Operator"), too.
Category category_of(const std::string& category);
struct Event {
  std::string phase, category, name, process, thread;
  std::string shapes, types, collective, dtype, group;
  std::string grid, block;
  Category kind = Category::other;  ///< of the category
  std::optional<Nanoseconds> time, duration;
  std::optional<std::int64_t> stream, device, bytes, number, sequence, forward_thread;
  std::optional<std::int64_t> in_elements, out_elements, group_size;
  std::optional<std::uint64_t> correlation, collective_sequence;

  /// Empties the texts. Their memory is used again.
  void clear();
  /// The text of a field; null for numbers.
  std::string* text_of(Field field);
  /// The number of a field; null for texts and times.
  std::optional<std::int64_t>* number_of(Field field);
};

/// Whether this is the name of a node of the backward pass in the form of PyTorch before 1.10: without
/// evaluate_function.
bool is_bare_node(std::string_view name);

}  // namespace tandem::trace
