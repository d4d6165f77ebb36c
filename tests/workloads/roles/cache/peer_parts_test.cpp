// The parts of reads from another cache node: their sizes, and the order in which they are requested.
#include "workloads/roles/cache/peer_parts.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <numeric>
#include <vector>

namespace tandem {
namespace TANDEM_FILE {

/// Samples of 100 KiB: two of them are a part, and two parts and a half fill the window.
constexpr Bytes sample{100 << 10};
constexpr cache::Manifest manifest{.samples = 1000, .each = sample};

using Ids = std::vector<SampleId>;

SampleRead read_of(SampleId first, std::size_t count, cache::Why why = cache::Why::demand) {
  SampleRead read{.ids = Ids(count), .why = why, .from = cache::peer(1)};
  std::iota(read.ids.begin(), read.ids.end(), first);
  read.size = sample * static_cast<std::int64_t>(count);
  return read;
}

TEST(PeerParts, HaveOneSampleAtLeastAndFewEnoughToNameThem) {
  const auto parts = [](Bytes each, std::size_t samples) {
    const cache::Manifest sizes{.samples = 1000, .each = each};
    return ends_of_peer_parts(sizes, Ids(samples)).size();
  };
  EXPECT_EQ(parts(most_of_peer_part + Bytes(1), 3), 3);
  EXPECT_EQ(parts(most_of_peer_part, 3), 3);
  EXPECT_EQ(parts(Bytes(1), protocol::Found::most), 1);
  EXPECT_EQ(parts(Bytes(1), protocol::Found::most + 1), 2);
}

/// A peer that answers requests in their order, and has all samples but the one with id `lacking`.
class PeerRequests : public ::testing::Test {
 protected:
  void add(SampleRead read) {
    parts_.add(std::move(read));
    request();
  }
  void request() {
    while (auto part = parts_.next()) {
      requested_.push_back(part->ids);
      open_.push_back(std::move(*part));
    }
  }
  SampleRead answer() {
    SampleRead part = std::move(open_.front());
    open_.pop_front();
    protocol::Found found{.samples = static_cast<std::int32_t>(part.ids.size())};
    for (std::size_t i = 0; i < part.ids.size(); ++i)
      if (part.ids[i] != lacking) found.set(i);
    SampleRead read = parts_.end(std::move(part), found);
    request();
    return read;
  }
  /// In the order of requests; those that are open are answered now.
  std::vector<Ids> requested() {
    while (!open_.empty()) answer();
    return requested_;
  }

  static constexpr SampleId lacking = 21;
  PeerParts parts_{manifest};
  std::deque<SampleRead> open_;
  std::vector<Ids> requested_;
};

/// The window is full when three parts are requested.
TEST_F(PeerRequests, WhatABatchWaitsForOvertakesReadsAhead) {
  add(read_of(0, 10, cache::Why::prefetch));
  add(read_of(20, 3));
  add(read_of(30, 1));
  EXPECT_EQ(open_.size(), 3);
  EXPECT_EQ(requested(), (std::vector<Ids>{{0, 1}, {2, 3}, {4, 5}, {20, 21}, {22}, {30}, {6, 7}, {8, 9}}));
}

TEST_F(PeerRequests, AReadAheadThatABatchBeginsToWaitForOvertakesOthers) {
  add(read_of(0, 10, cache::Why::prefetch));
  parts_.hurry(9);
  parts_.hurry(0);   // is requested
  parts_.hurry(99);  // of another node
  SampleRead awaited = read_of(20, 2, cache::Why::prefetch);
  awaited.is_awaited = true;
  add(std::move(awaited));
  EXPECT_EQ(requested(), (std::vector<Ids>{{0, 1}, {2, 3}, {4, 5}, {8, 9}, {20, 21}, {6, 7}}));
}

TEST_F(PeerRequests, APartEndsWithTheSamplesThatWereFound) {
  add(read_of(20, 2));
  const SampleRead read = answer();
  EXPECT_EQ(read.ids, Ids{20});
  EXPECT_EQ(read.not_here, Ids{21});
  EXPECT_EQ(read.size, sample);
  EXPECT_TRUE(parts_.is_empty());
}

}  // namespace TANDEM_FILE
}  // namespace tandem
