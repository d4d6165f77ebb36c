// Messages between ranks: structs survive packing into a note and are not unpacked from another struct's
// note; a stream takes its own notes only; channels have unique numbers.
#include "workloads/protocol.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

namespace tandem::protocol {
namespace TANDEM_FILE {

template <Name stream>
Note packed(const NoteOf<stream>& note) {
  return note.note();
}

TEST(Protocol, StructsRoundTrip) {
  const auto push = unpack<Push>(packed<"pushes">(Push{3, -4, 5, 6, Seconds(0.25), -1.5}));
  EXPECT_EQ(push.version, 3);
  EXPECT_EQ(push.samples, -4);
  EXPECT_EQ(push.local_steps, 5);
  EXPECT_EQ(push.commit_round, 6);
  EXPECT_EQ(push.duration, Seconds(0.25));
  EXPECT_EQ(push.loss, -1.5);
  const auto reply = unpack<Reply>(packed<"replies">(Reply{7, 8, 9, true, false, std::int64_t{1} << 40, 10}));
  EXPECT_EQ(reply.version, 7);
  EXPECT_EQ(reply.batch, 8);
  EXPECT_EQ(reply.local_steps, 9);
  EXPECT_TRUE(reply.stops);
  EXPECT_FALSE(reply.dropped);
  EXPECT_EQ(reply.all_samples, std::int64_t{1} << 40);
  EXPECT_EQ(reply.commit_round, 10);
  const auto stored = unpack<Stored>(packed<"commits">(Stored{11, 2, true, Seconds(1.5), Seconds(0.5)}));
  EXPECT_EQ(stored.round, 11);
  EXPECT_TRUE(stored.failed);
  EXPECT_EQ(stored.ended, Seconds(1.5));
  EXPECT_EQ(stored.blocked, Seconds(0.5));
  const auto copied = unpack<Copied>(packed<"copies">(Copied{12, 11, 9, 10}));
  EXPECT_EQ(copied.round, 12);
  EXPECT_EQ(copied.oldest, 11);
  EXPECT_EQ(copied.since, 9);
  EXPECT_EQ(copied.blocks, 10);
  const auto last = unpack<LastCopy>(packed<"copies">(LastCopy{15, 14}));
  EXPECT_EQ(last.oldest, 15);
  EXPECT_EQ(last.since, 14);
  EXPECT_EQ(unpack<Fetch>(packed<"copies">(Fetch{13})).round, 13);
  const auto kept = unpack<Kept>(packed<"copies-kept">(Kept{14, true, 3}));
  EXPECT_EQ(kept.round, 14);
  EXPECT_TRUE(kept.failed);
  EXPECT_EQ(kept.blocks, 3);
  const auto checkpoint =
      unpack<Checkpoint>(packed<"checkpoints">(Checkpoint{1, std::int64_t{1} << 33, Seconds(2)}));
  EXPECT_EQ(checkpoint.round, 1);
  EXPECT_EQ(checkpoint.samples, std::int64_t{1} << 33);
  EXPECT_EQ(checkpoint.taken, Seconds(2));
  EXPECT_FALSE(checkpoint.decides);
  EXPECT_TRUE(unpack<Verdict>(packed<"verdicts">(Verdict{.reached = true})).reached);
  const auto decided = unpack<Decided>(packed<"decisions">(Decided{3, Seconds(0.5), 0.25}));
  EXPECT_EQ(decided.worker, 3);
  EXPECT_EQ(decided.now, Seconds(0.5));
  EXPECT_EQ(decided.done, 0.25);
  EXPECT_EQ(unpack<Traffic>(packed<"words">(Traffic{6, Bytes(7)})).size, Bytes(7));
}

TEST(Protocol, FoundHasABitForEachSample) {
  Found found{.samples = 256};
  for (const std::size_t position : {0U, 7U, 8U, 100U, 255U}) found.set(position);
  const auto unpacked = unpack<Found>(packed<"peer-data">(found));
  EXPECT_EQ(unpacked.samples, 256);
  for (std::size_t position = 0; position < Found::most; ++position)
    EXPECT_EQ(unpacked.has(position),
              position == 0 || position == 7 || position == 8 || position == 100 || position == 255)
        << position;
  EXPECT_EQ(unpack<Read>(packed<"reads">(Read{.samples = 3, .epoch = 5})).epoch, 5);
}

TEST(Protocol, ANanLossRoundTrips) {
  const Note note = packed<"pushes">(Push{.loss = std::numeric_limits<double>::quiet_NaN()});
  EXPECT_TRUE(std::isnan(unpack<Push>(note).loss));
}

TEST(Protocol, ANoteIdentifiesItsStruct) {
  EXPECT_TRUE(as<Leave>(packed<"pushes">(Leave{})));
  EXPECT_FALSE(as<End>(packed<"pushes">(Leave{})));
  EXPECT_FALSE(as<Leave>(Note{}));
  EXPECT_EQ(note_names.name(number_of(packed<"words">(Traffic{}))), "traffic");
  Note unknown;
  unknown.bytes.front() = std::byte{99};
  EXPECT_EQ(note_names.name(number_of(unknown)), "99");
}

TEST(Protocol, AStreamTakesItsOwnNotesOnly) {
  static_assert(std::is_convertible_v<Push, NoteOf<"pushes">>);
  static_assert(!std::is_convertible_v<Reply, NoteOf<"pushes">>);
  static_assert(std::is_convertible_v<Training, NoteOf<"membership">>);
  static_assert(!std::is_convertible_v<Note, NoteOf<"pushes">>);
}

TEST(ProtocolDeathTest, AnotherStructsNoteIsAProgrammersError) {
  EXPECT_DEATH(unpack<Push>(packed<"replies">(Reply{})), "expected a note that holds push found reply");
  EXPECT_DEATH(unpack<Leave>(Note{}), "expected a note that holds leave found none");
}

TEST(Protocol, EveryChannelHasAUniqueNumber) {
  std::set<std::int32_t> numbers;
  for (std::int16_t stream = 0; stream < Channel::most_streams; ++stream)
    for (std::int32_t bucket = Channel::no_bucket; bucket < 3000; ++bucket)
      EXPECT_TRUE(numbers.insert(Channel{stream, false, bucket}.number()).second) << stream << ' ' << bucket;
}

TEST(Protocol, StreamsHaveNamesAndMayCarryNotes) {
  EXPECT_EQ(stream_name(channel<"pushes">()), "pushes");
  EXPECT_EQ(stream_name(channel<"reduces">(3)), "reduces");
  EXPECT_EQ(stream_name(Channel{.stream = 99}), "99");
  EXPECT_TRUE(channel<"pushes">().carries_note);
  EXPECT_FALSE(channel<"push-pieces">().carries_note);
  EXPECT_EQ(channel<"push-pieces">(4).bucket, 4);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::protocol
