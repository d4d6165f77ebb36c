// Rows of caches.csv that count what went wrong with samples, instead of a class of delivered ones.
#pragma once

#include <string_view>

namespace tandem {

/// Of a worker: samples that it trained on in the place of bad ones (data.bad_sample).
inline constexpr std::string_view replaced_row = "replaced";
/// Of a cache node: samples for which the disk of its second tier had no room.
inline constexpr std::string_view no_room_row = "no-room";

inline bool counts_faults(std::string_view from) { return from == replaced_row || from == no_room_row; }

}  // namespace tandem
