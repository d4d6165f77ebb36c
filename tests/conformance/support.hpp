// Helpers of the conformance scenarios: checks that throw, and byte patterns that identify a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/conformance/conformance.hpp"
#include "tests/support/numbered_note.hpp"

namespace tandem::conformance {

using Buffer = std::vector<std::byte>;
using testing::number_of;
using testing::numbered_note;

template <class Expected, class Found>
void expect_equal(const Context& context, const std::string& what, const Expected& expected,
                  const Found& found) {
  if (expected == found) return;
  std::ostringstream text;
  text << "rank " << context.rank() << ": " << what << ": expected " << expected << ", found " << found;
  throw std::runtime_error(text.str());
}

inline void expect(const Context& context, const std::string& what, bool holds) {
  expect_equal(context, what, true, holds);
}

inline std::byte pattern_byte(std::uint32_t key, std::size_t position) {
  return static_cast<std::byte>((key * 2654435761U + static_cast<std::uint32_t>(position) * 40503U) >> 13);
}

/// `size` bytes that differ from those of any other key.
inline Buffer pattern(std::uint32_t key, std::size_t size) {
  Buffer bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = pattern_byte(key, i);
  return bytes;
}

/// Checks the first `size` bytes against pattern(key, size).
inline void expect_pattern(const Context& context, const std::string& what, std::uint32_t key,
                           const Buffer& found, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i)
    if (found.at(i) != pattern_byte(key, i))
      expect_equal(context, what + ": byte " + std::to_string(i), std::to_integer<int>(pattern_byte(key, i)),
                   std::to_integer<int>(found[i]));
}

inline Slice slice_of(Buffer& bytes) {
  return {Bytes(static_cast<std::int64_t>(bytes.size())), bytes.data()};
}

inline void send_now(Context& context, Rank to, Channel channel, Slice slice, const Note& note = {}) {
  Pending pending = context.send(to, channel, slice, note);
  context.wait(pending);
}

inline Completion receive_now(Context& context, Rank from, Channel channel, Slice slice) {
  Pending pending = context.receive(from, channel, slice);
  return context.wait(pending);
}

inline void pause(Context& context, double seconds) {
  Pending pending = context.sleep(Seconds(seconds));
  context.wait(pending);
}

std::vector<Scenario> message_scenarios();
std::vector<Scenario> waiting_scenarios();
std::vector<Scenario> traffic_scenarios();
std::vector<Scenario> all_reduce_scenarios();
std::vector<Scenario> leaving_scenarios();
std::vector<Scenario> disconnecting_scenarios();
std::vector<Scenario> disk_scenarios();

}  // namespace tandem::conformance
