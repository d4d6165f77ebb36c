// Epochs are recorded when all clients have left them, with what was delivered in place of what was
// requested.
#include "workloads/roles/cache/delivery_log.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "workloads/records/id_text.hpp"

namespace tandem {
namespace TANDEM_FILE {

std::vector<cache::Serve> serves(std::vector<std::pair<SampleId, SampleId>> pairs) {
  std::vector<cache::Serve> all;
  for (const auto& [asked, given] : pairs) all.push_back({.asked = asked, .given = given});
  return all;
}

/// Each is served what it asks for, or something in its place.
void note(DeliveryLog& log, std::size_t client, std::int64_t epoch, const std::vector<cache::Serve>& serves) {
  std::vector<SampleId> requested;
  for (const cache::Serve& serve : serves) requested.push_back(serve.asked);
  log.note(client, epoch, requested, serves);
}

TEST(DeliveryLog, WaitsForTheSlowestClient) {
  Journal journal;
  DeliveryLog log({.samples = 8, .each = Bytes(10)}, 5, journal, 2);
  note(log, 0, 0, serves({{3, 3}, {1, 1}}));
  note(log, 0, 1, serves({{3, 3}}));
  EXPECT_TRUE(journal.deliveries.empty());
  note(log, 1, 0, serves({{7, 7}, {7, 7}}));
  note(log, 1, 1, serves({{0, 0}}));
  ASSERT_EQ(journal.deliveries.size(), 1U);
  const DeliveryRecord& first = journal.deliveries[0];
  EXPECT_EQ(first.rank, 5);
  EXPECT_EQ(first.epoch, 0);
  EXPECT_EQ(first.set, 8);
  EXPECT_EQ(first.samples, 4);
  EXPECT_EQ(first.bytes, 40);
  EXPECT_EQ(first.distinct_bytes, 30);
  EXPECT_EQ(first.requested, id_text({1, 3, 7, 7}));
  EXPECT_EQ(first.delivered, "");
  log.end(0);
  EXPECT_EQ(journal.deliveries.size(), 1U);
  log.end(1);
  ASSERT_EQ(journal.deliveries.size(), 2U);
  EXPECT_EQ(journal.deliveries[1].requested, id_text({0, 3}));
}

TEST(DeliveryLog, SubstitutesAreApart) {
  Journal journal;
  DeliveryLog log({.samples = 8, .each = Bytes(10)}, 0, journal, 1);
  note(log, 0, 0, serves({{0, 0}, {1, 5}, {2, 2}}));
  note(log, 0, 1, serves({{4, 6}, {6, 4}}));
  note(log, 0, 2, serves({{4, 6}, {6, 6}}));
  log.end(0);
  ASSERT_EQ(journal.deliveries.size(), 3U);
  EXPECT_EQ(journal.deliveries[0].requested, id_text({0, 1, 2}));
  EXPECT_EQ(journal.deliveries[0].delivered, id_text({0, 2, 5}));
  EXPECT_EQ(journal.deliveries[1].delivered, "") << "they changed places";
  EXPECT_EQ(journal.deliveries[2].delivered, id_text({6, 6}));
}

/// The second batch is served 5 where 1 was, which was delivered in its place before.
TEST(DeliveryLog, RequestsAreWhatTheWorkerAskedFor) {
  Journal journal;
  DeliveryLog log({.samples = 8, .each = Bytes(10)}, 0, journal, 1);
  log.note(0, 0, std::vector<SampleId>{5}, serves({{5, 1}}));
  log.note(0, 0, std::vector<SampleId>{1}, serves({{5, 5}}));
  log.end(0);
  ASSERT_EQ(journal.deliveries.size(), 1U);
  EXPECT_EQ(journal.deliveries[0].requested, id_text({1, 5}));
  EXPECT_EQ(journal.deliveries[0].delivered, "");
  EXPECT_EQ(journal.deliveries[0].distinct_bytes, 20);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
