// Files without the events of a GPU: execution traces, Chakra traces, DDP's logging data. Figures of stored
// files are those of their README, and of PyTorch's own bucket list.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/trace/chakra_file.hpp"
#include "workloads/trace/job_description.hpp"
#include "workloads/trace/read_trace.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using trace::JobDescription;

using Numbers = std::vector<std::int64_t>;

JobDescription read(const std::string& path) {
  auto inputs = trace::read_inputs(path, {});
  EXPECT_TRUE(inputs.traces.empty()) << path;
  EXPECT_EQ(inputs.descriptions.size(), 1U) << path;
  return inputs.descriptions.empty() ? JobDescription() : std::move(inputs.descriptions.front());
}

JobDescription of_text(const std::string& text) {
  const TemporaryFolder folder;
  return read(folder.write("job", text));
}

/// Shipped with the fuzzer.
JobDescription small(const std::string& name) {
  return read((std::filesystem::path(source_folder()) / "tests/fuzz/corpus/trace" / name).string());
}

std::string error_of(const std::string& text) {
  try {
    of_text(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

template <class Value>
Numbers each(const JobDescription& job, const Value& value) {
  Numbers numbers;
  for (const auto& bucket : job.buckets) numbers.push_back(value(bucket));
  return numbers;
}

Numbers bytes_of(const JobDescription& job) {
  return each(job, [](const auto& bucket) { return bucket.bytes; });
}
Numbers ready_us(const JobDescription& job) {
  return each(job, [](const auto& bucket) { return bucket.ready ? *bucket.ready / 1000 : -1; });
}
Numbers tensors_of(const JobDescription& job) {
  return each(job, [](const auto& bucket) { return std::ssize(bucket.gradients); });
}

struct Stored {
  std::string file;
  Numbers bytes;    ///< of the buckets
  Numbers tensors;  ///< of each
  int steps;
  std::int64_t broadcasts;  ///< bytes per step
  std::string refusal;      ///< empty: none
};

const Numbers resnet50 = {8196000, 31502336, 26255360, 26550272, 9724160};

TEST(JobDescriptions, OfStoredFilesHaveDdpsBucketsToTheByte) {
  const auto folder = std::filesystem::path(source_folder()) / "../shared/data/pytorch/chakra";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the stored traces are absent";
  const std::vector<Stored> all = {
      {"resnet_2gpu_et.json.gz", resnet50, {2, 15, 12, 51, 81}, 3, 212904, ""},
      {"torch1.13_gloo_lenet_rank0of2_eg.json.gz", {4 * 431080}, {8}, 2, 0, ""},
      {"torch1.13_gloo_lenet_rank1of2_eg.json.gz", {4 * 431080}, {8}, 2, 0, ""},
      {"feeder_tests_trace.tar.gz", resnet50, {0, 0, 0, 0, 0}, 1, 212904, ""},
      {"all_reduce_8npus_1MB/all_reduce.7.et", {1048576}, {0}, 1, 0, ""},
      {"1.0.2-chakra.0.0.4.tgz", {}, {}, 0, 0, "FSDP"},
      {"all_gather.0.et", {}, {}, 0, 0, "FSDP"},
      {"reduce_scatter.0.et", {}, {}, 0, 0, "FSDP"},
      {"custom_ring_8npus_1MB/custom_allreduce.0.et", {}, {}, 0, 0, "not data-parallel"},
      {"benchmark_simple_add_et.json.gz", {}, {}, 0, 0, "no buckets"}};
  for (const auto& stored : all) {
    SCOPED_TRACE(stored.file);
    const auto job = read((folder / stored.file).string());
    EXPECT_EQ(bytes_of(job), stored.bytes);
    EXPECT_EQ(tensors_of(job), stored.tensors);
    EXPECT_EQ(job.steps, stored.steps);
    EXPECT_EQ(job.steps_alike, stored.steps);
    EXPECT_EQ(job.broadcast_bytes, stored.broadcasts);
    const auto refusals = trace::refusals_of(job);
    EXPECT_EQ(refusals.empty() ? "" : refusals.front().name, stored.refusal);
  }
}

/// By hand: durations of the GPU's computation, added up in the order of the data dependencies.
TEST(JobDescriptions, OfAStoredChakraTraceAreReadyAfterTheComputationBeforeThem) {
  const auto file =
      std::filesystem::path(source_folder()) / "../shared/data/pytorch/chakra/feeder_tests_trace.tar.gz";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "the stored traces are absent";
  const auto job = read(file.string());
  EXPECT_THAT(ready_us(job), ElementsAre(89997, 101022, 118863, 160651, 287527));
  EXPECT_EQ(*job.update / 1000, 292828 - 287527);
  EXPECT_LT(*job.forward, *job.buckets.front().ready);
  EXPECT_GT(*job.forward, 80'000'000);
}

TEST(JobDescriptions, OfBothGenerationsOfNodes) {
  const auto job = small("nodes.json");
  EXPECT_THAT(bytes_of(job), ElementsAre(24, 8));
  EXPECT_EQ(job.buckets[0].dtype, "float");
  EXPECT_EQ(job.buckets[1].dtype, "c10::Half");
  EXPECT_EQ(job.world_size, 2);
  EXPECT_EQ(job.broadcast_bytes, 32);
  EXPECT_TRUE(trace::is_without_times(job));
  // 30 ms, of which a third is before the backward pass; 24 of 32 bytes are ready after three quarters of it.
  const auto traced = trace::traced_job(job, 30'000'000);
  EXPECT_EQ(traced.forward, 10'000'000);
  EXPECT_EQ(traced.buckets[0].ready, 25'000'000);
  EXPECT_EQ(traced.buckets[1].ready, 30'000'000);
  EXPECT_TRUE(traced.has_assumed_passes);
}

TEST(JobDescriptions, OfASmallChakraTrace) {
  const auto job = small("chakra.et");
  EXPECT_THAT(bytes_of(job), ElementsAre(4000));
  EXPECT_THAT(ready_us(job), ElementsAre(50));
  EXPECT_EQ(job.forward, 20'000);
  EXPECT_EQ(job.update, 10'000);
  const auto traced = trace::traced_job(job, {});
  EXPECT_EQ(traced.step, 60'000);
  EXPECT_FALSE(traced.has_assumed_ready_times);
  EXPECT_EQ(trace::traced_job(job, 75'000).update, 25'000) << "the rest of a step that is longer";
  EXPECT_THROW(trace::traced_job(job, 49'000), ConfigError);
}

/// 29 + 63 ms, of which the last 62 ms follow the first all-reduce. The buckets between are assumed by their
/// bytes: 31.5, 57.8 and 84.3 of 94.0 MB.
TEST(JobDescriptions, OfDdpsLoggingData) {
  const auto job = small("logging.json");
  EXPECT_EQ(bytes_of(job), resnet50);
  EXPECT_THAT(ready_us(job), ElementsAre(30000, -1, -1, -1, 92000));
  EXPECT_EQ(job.rank, 0);
  EXPECT_EQ(job.world_size, 2);
  const auto traced = trace::traced_job(job, 96'000'000);
  Numbers ready;
  for (const auto& bucket : traced.buckets) ready.push_back(bucket.ready / 1000);
  EXPECT_THAT(ready, ElementsAre(30000, 50771, 68082, 85588, 92000));
  EXPECT_EQ(traced.update, 4'000'000);
  EXPECT_TRUE(traced.has_assumed_ready_times);
  EXPECT_FALSE(traced.has_assumed_passes);
  const auto half =
      of_text(R"({"bucket_sizes": "8, 4", "dtypes": "c10::Half", "comm_hook": "bf16_compress_hook"})");
  EXPECT_EQ(half.buckets[0].elements, 4);
  EXPECT_EQ(half.buckets[0].dtype, "c10::BFloat16");
  EXPECT_EQ(trace::gaps_of(half).front().name, "times");
  EXPECT_THAT(of_text(R"({"bucket_sizes": "8, x"})").buckets, IsEmpty());
}

/// The bytes by hand: of each field its number and type, then the value. The first node is the file of
/// ASTRA-sim's example all_reduce_8npus_1MB.
TEST(ChakraFile, HasTheBytesThatOtherProgramsRead) {
  using namespace std::string_literals;
  using trace::ChakraNode;
  const std::string is_cpu_op = "\x52\x0e\x0a\x09is_cpu_op\xd8\x01"s, no = "\0"s;
  const std::string sum = "\x48\x12\x14"s + "all_reduce_8npus_1MB" + "\x18\x07"s + is_cpu_op + no +
                          "\x52\x0d\x0a\x09"s + "comm_type" + "\x48\0"s + "\x52\x0f\x0a\x09"s + "comm_size" +
                          "\x48\x80\x80\x40"s;
  // Node 1 depends on node 0, begins after 10 us and takes 5 us.
  const std::string computation =
      "\x1e\x08\x01\x12\x01\x61\x18\x04\x2a\x01\0\x30\x0a\x38\x05"s + is_cpu_op + no;
  const std::vector<ChakraNode> nodes = {
      {.name = "all_reduce_8npus_1MB", .type = 7, .communication = ChakraNode::all_reduce, .bytes = 1 << 20},
      {.id = 1, .name = "a", .type = 4, .data_dependencies = {0}, .start = 10'000, .duration = 5'400}};
  const std::string metadata = "\x07\x0a\x05"s + "0.0.4";
  EXPECT_EQ(trace::chakra_file_of(nodes), metadata + sum + computation);
  EXPECT_THAT(bytes_of(of_text(metadata + sum + computation)), ElementsAre(1 << 20));
}

TEST(JobDescriptions, OfBrokenFilesAreRefusedOrSaySo) {
  using namespace std::string_literals;
  const std::string metadata = "\0"s;
  EXPECT_THAT(error_of(metadata + "\x05\x08\x01"s), HasSubstr("a message that ends early at byte 4"));
  EXPECT_THAT(error_of(metadata + "\x03\x08\x01\x0f"s), HasSubstr("a broken node before at byte 5"));
  EXPECT_THAT(error_of(metadata + "\x05\x08\x01\x2a\x01\x01"s), HasSubstr("found one at or before node 1"));
  EXPECT_THAT(error_of(metadata + "\xff\xff\xff\xff\x7f"s), HasSubstr("more than 4 MiB"));
  const auto cut = of_text(R"({"schema": "1.1.1", "nodes": [{"id": 1, "name": "c10d)");
  ASSERT_TRUE(cut.broken_at_byte);
  EXPECT_EQ(trace::refusals_of(cut).front().name, "truncated") << "buckets may be missing";
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
