// What a cache node asks another one for, and in which order.
#include "workloads/roles/cache/peer_source.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "tests/support/fake_context.hpp"

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

/// Every request to rank 1, which has all samples; `ask` adds reads, and `ended` gets each that has ended.
/// Requests are answered only when `ask` has returned.
std::vector<Ids> requests_of(const std::function<void(PeerSource&)>& ask,
                             const std::function<void(const SampleRead&)>& ended = {}) {
  std::vector<Ids> requests;
  testing::FakeWorld world(2, 1);
  world.run([&](Context& context) {
    const Channel asked{.stream = 100, .carries_note = true};
    if (context.rank() == 0) {
      PeerSource source(context, 1, manifest);
      ask(source);
      Pending all = context.send(1, asked, {});
      context.wait(all);
      for (Pending wait; !source.is_idle();) {
        source.put_next(wait);
        source.on_ended(context.wait(wait));
        const auto read = source.finish();
        ASSERT_TRUE(read);
        EXPECT_EQ(read->size, sample * std::ssize(read->ids));
        if (ended) ended(*read);
      }
      source.say_end();
      Pending last;
      return source.close(last);
    }
    Pending all = context.receive(0, asked, {});
    context.wait(all);
    for (;;) {
      Ids ids(protocol::Found::most);
      Pending asks =
          protocol::receive<"peer-reads">(context, 0,
                                          {Bytes(static_cast<std::int64_t>(ids.size() * sizeof(SampleId))),
                                           reinterpret_cast<std::byte*>(ids.data())});
      const Note note = context.wait(asks).note;
      if (protocol::as<protocol::End>(note)) return;
      ids.resize(static_cast<std::size_t>(protocol::unpack<protocol::Read>(note).samples));
      protocol::Found found{.samples = static_cast<std::int32_t>(ids.size())};
      for (std::size_t i = 0; i < ids.size(); ++i) found.set(i);
      Pending answer = protocol::send<"peer-data">(context, 0, found, {sample * std::ssize(ids), nullptr});
      context.wait(answer);
      requests.push_back(std::move(ids));
    }
  });
  return requests;
}

TEST(PeerSource, AReadIsRequestedInPartsOfFewBytes) {
  std::size_t reads = 0;
  EXPECT_EQ(requests_of([](PeerSource& source) { source.add(read_of(10, 5)); },
                        [&](const SampleRead&) { ++reads; }),
            (std::vector<Ids>{{10, 11}, {12, 13}, {14}}));
  EXPECT_EQ(reads, 3);
}

/// Each part ends by itself, without a message.
TEST(PeerSource, APeerThatIsNotThereHasNoSample) {
  testing::FakeWorld world(2, 1);
  world.run([&](Context& context) {
    if (context.rank() == 1) return;
    PeerSource source(context, 1, manifest);
    source.be_absent();
    source.add(read_of(10, 5, cache::Why::prefetch));
    std::vector<Ids> refused;
    while (const auto read = source.take_refused()) {
      EXPECT_TRUE(read->ids.empty());
      EXPECT_EQ(read->size, Bytes(0));
      refused.push_back(read->not_here);
    }
    EXPECT_EQ(refused, (std::vector<Ids>{{10, 11}, {12, 13}, {14}}));
    EXPECT_TRUE(source.is_idle());
    Pending last;
    source.put_next(last);
    EXPECT_TRUE(last.empty());
    source.say_end();
    source.close(last);
  });
}

}  // namespace TANDEM_FILE
}  // namespace tandem
