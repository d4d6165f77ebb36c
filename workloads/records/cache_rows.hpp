// Rows of caches.csv that count something else than a class of delivered samples: what was read in the
// background, and what went wrong.
#pragma once

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

/// Of a cache node: samples that it read before anybody waited for them, and those of them that left it
/// before they were delivered.
inline constexpr std::string_view background_row = "background";
inline constexpr std::string_view wasted_row = "wasted";
/// Of a cache node: samples that another one was asked for in vain, which then count as read from the store.
inline constexpr std::string_view peer_miss_row = "peer-miss";

/// Whether a row counts delivered samples.
inline bool counts_delivered(std::string_view from) {
  return from != replaced_row && from != no_room_row && from != kept_row && from != spoiled_row &&
         from != background_row && from != wasted_row && from != peer_miss_row;
}
inline bool counts_faults(std::string_view from) {
  return from == replaced_row || from == no_room_row || from == spoiled_row;
}

}  // namespace tandem
