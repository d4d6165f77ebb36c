// Notes that carry a number, which tests use to distinguish them; every byte of a note depends on it.
#pragma once

#include <cstdint>
#include <cstring>

#include "workloads/context.hpp"

namespace tandem::testing {

inline Note numbered_note(std::int64_t number) {
  Note note;
  for (std::size_t i = sizeof(number); i < note.bytes.size(); ++i)
    note.bytes[i] = static_cast<std::byte>(static_cast<std::uint64_t>(number) * 37U + i);
  std::memcpy(note.bytes.data(), &number, sizeof(number));
  return note;
}

/// -1: not a numbered note.
inline std::int64_t number_of(const Note& note) {
  std::int64_t number = 0;
  std::memcpy(&number, note.bytes.data(), sizeof(number));
  return note == numbered_note(number) ? number : -1;
}

}  // namespace tandem::testing
