// Rows of caches.csv that count other things than delivered samples: background reads, failures, and the
// messages to and from the directory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace tandem {

/// Of a worker: samples that it trained on in the place of bad ones (data.bad_sample).
inline constexpr std::string_view replaced_row = "replaced";
/// Of a cache node: samples for which the disk of its second tier had no room.
inline constexpr std::string_view no_room_row = "no-room";
/// Of a cache node, as it begins (data.keep): samples of an earlier process or job that are still in its
/// second tier, and those that were spoiled there since.
inline constexpr std::string_view kept_row = "kept";
inline constexpr std::string_view spoiled_row = "spoiled";

/// Of a cache node: samples that it read before a batch waited for them, and those of them that left it
/// before they were delivered.
inline constexpr std::string_view background_row = "background";
inline constexpr std::string_view wasted_row = "wasted";
/// Of a cache node: samples that another node was asked for and did not have. They count as read from the
/// store.
inline constexpr std::string_view peer_miss_row = "peer-miss";

/// Of a cache node that asks a directory: samples that it has asked for, with the times of the answers;
/// samples that it has reported as kept, and as not kept any more; and samples that the named holder did not
/// have.
inline constexpr std::string_view lookup_row = "lookup";
inline constexpr std::string_view published_row = "published";
inline constexpr std::string_view withdrawn_row = "withdrawn";
inline constexpr std::string_view repaired_row = "repaired";
/// The same in messages, each of which counts as a sample, and in their bytes.
inline constexpr std::string_view lookup_messages_row = "lookup-messages";
inline constexpr std::string_view update_messages_row = "update-messages";

/// Of a cache node: the bytes that its tiers could have delivered at most, if it had known the order of
/// requests: in its first epoch, and in the later ones up to that of the row.
inline constexpr std::string_view belady_row = "belady";
/// Cache nodes keep the order of at most this many requests of a job. Longer jobs would take much time and
/// memory.
inline constexpr std::int64_t most_ordered = 1 << 24;
/// For a cache node that measures its benefit for a job: intervals between batches of a worker (as
/// `samples`) and their sum (as time), with batches from the cache, and with batches that bypass it.
inline constexpr std::string_view probe_with_row = "probe-with";
inline constexpr std::string_view probe_without_row = "probe-without";

inline bool is_of_directory(std::string_view from) {
  constexpr std::array rows = {lookup_row,   published_row,       withdrawn_row,
                               repaired_row, lookup_messages_row, update_messages_row};
  return std::ranges::find(rows, from) != rows.end();
}

/// Whether a row counts samples that were not moved.
inline bool is_estimate(std::string_view from) {
  return from == belady_row || from == probe_with_row || from == probe_without_row;
}
/// Whether a row counts samples that a cache node found in its second tier when it began.
inline bool counts_left(std::string_view from) { return from == kept_row || from == spoiled_row; }
/// Whether a row counts delivered samples.
inline bool counts_delivered(std::string_view from) {
  return from != replaced_row && from != no_room_row && !counts_left(from) && from != background_row &&
         from != wasted_row && from != peer_miss_row && !is_of_directory(from) && !is_estimate(from);
}
inline bool counts_faults(std::string_view from) {
  return from == replaced_row || from == no_room_row || from == spoiled_row;
}

}  // namespace tandem
