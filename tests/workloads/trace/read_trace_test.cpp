// The reader of traces: formats, generations of names, broken text, bombs, and what is never kept.
#include "workloads/trace/read_trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/stream_text.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/workloads/trace/made_trace.hpp"
#include "workloads/trace/breakdown.hpp"
#include "workloads/trace/decimal_time.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using ::testing::HasSubstr;
using trace::DeviceWork;
using trace::Trace;

std::string packed(const std::string& text) {
  const TemporaryFolder folder;
  const std::string path = folder.path("packed");
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  std::ifstream stream(path, std::ios::binary);
  return rest_of(stream);
}

std::vector<Trace> read(const std::string& name, const std::string& bytes) {
  const TemporaryFolder folder;
  return trace::read_inputs(folder.write(name, bytes), {}).traces;
}

std::string error_of(const std::string& name, const std::string& bytes) {
  try {
    read(name, bytes);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

std::string tar_member(const std::string& name, const std::string& content) {
  std::string block(512, '\0');
  block.replace(0, name.size(), name);
  std::string size = "00000000000";
  std::size_t rest = content.size();
  for (std::size_t digit = size.size(); rest > 0; rest /= 8)
    size[--digit] = static_cast<char>('0' + rest % 8);
  block.replace(124, size.size(), size);
  block[156] = '0';
  block.replace(257, 5, "ustar");
  return block + content + std::string((512 - content.size() % 512) % 512, '\0');
}

TEST(TraceTimes, AreReadFromTheirTextToTheNanosecond) {
  using trace::nanoseconds_of;
  const std::vector<std::pair<std::string, std::optional<trace::Nanoseconds>>> all = {
      {"1712195495520871.123", 1712195495520871123},
      {"4458676524648.797", 4458676524648797},
      {"0.02", 20},
      {"0.0004", 0},
      {"0.0005", 1},
      {"-1.5", -1500},
      {"1.5e3", 1500000},
      {"25E-3", 25},
      {"1e+2", 100000},
      {"0e99999", 0},
      {"1e-400", 0},
      {"1e300", std::nullopt},
      {"99999999999999999999", std::nullopt},
      {"", std::nullopt},
      {"abc", std::nullopt},
      {"1x", std::nullopt}};
  for (const auto& [text, time] : all) EXPECT_EQ(nanoseconds_of(std::string_view(text)), time) << text;
  EXPECT_EQ(nanoseconds_of(std::int64_t{5}), 5000);
  EXPECT_EQ(nanoseconds_of(std::numeric_limits<std::int64_t>::max()), std::nullopt);
  // A double keeps 0.25 us of a time since 1970.
  EXPECT_EQ(trace::as_double(1712195495520871123), 1712195495520871.0);
}

TEST(TraceReader, SeesGzipAndTarInTheContentAndNotInTheName) {
  const std::string text = MadeTrace().step(1, 1000).text();
  for (const auto& [name, bytes] : std::vector<std::pair<std::string, std::string>>{
           {"a.json", text}, {"a.json.gz", text}, {"b.json", packed(text)}, {"b.json.gz", packed(text)}}) {
    const auto traces = read(name, bytes);
    ASSERT_EQ(traces.size(), 1U);
    EXPECT_EQ(traces.front().device.size(), 5U) << name;
    EXPECT_EQ(traces.front().report.bytes, text.size());
  }
  const std::string archive = tar_member("d/0.json", text) + tar_member("d/._0.json", "not a trace") +
                              tar_member("d/notes.txt", "no") + tar_member("d/1.json", text) +
                              std::string(1024, '\0');
  for (const auto& bytes : {archive, packed(archive)}) {
    const auto traces = read("all", bytes);
    ASSERT_EQ(traces.size(), 2U);
    EXPECT_THAT(traces.back().name, HasSubstr("d/1.json"));
    EXPECT_EQ(traces.back().device.size(), 5U);
  }
}

/// What a trap of real files must come to.
struct Trap {
  std::string name;
  std::string text;
  std::function<void(const Trace&)> expect;
};

void expect_work(const Trace& trace, const std::vector<DeviceWork>& work) {
  ASSERT_EQ(trace.device.size(), work.size());
  for (std::size_t i = 0; i < work.size(); ++i) EXPECT_EQ(trace.device[i].work, work[i]) << i;
}

std::vector<Trap> traps_of_names() {
  const std::string gpu = "\"stream\": 7";
  return {{"annotations and waits of the GPU are no work",
           MadeTrace()
               .span("gpu_user_annotation", "ProfilerStep#1", 1, 50, gpu)
               .span("cuda_sync", "Stream Wait Event", 1, 50, gpu)
               .span("kernel", "k", 2, 1, gpu)
               .text(),
           [](const Trace& trace) { EXPECT_EQ(trace.device.size(), 1U); }},
          {"names of 2021",
           MadeTrace()
               .span("Kernel", "k", 1, 1, gpu + ", \"correlation\": 5")
               .span("Memcpy", "Memcpy HtoD (Pageable -> Device)", 2, 1, gpu)
               .span("Memset", "Memset (Device)", 3, 1, gpu)
               .span("Runtime", "cudaLaunchKernel", 0.5, 0.1, "\"correlation\": 5")
               .span("Operator", "ProfilerStep#6", 0, 9)
               .text(),
           [](const Trace& trace) {
             expect_work(trace, {DeviceWork::computation, DeviceWork::memory, DeviceWork::memory});
             EXPECT_NE(trace.launch_of(trace.device.front()), nullptr);
             EXPECT_EQ(trace.host.size(), 1U);
           }},
          {"names of kernels that communicate",
           MadeTrace()
               .span("kernel", "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWork*)", 1, 1, gpu)
               .span("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 2, 1, gpu)
               .span("kernel", "void NcclAllReduce", 3, 1, gpu)
               .span("kernel", "hcclKernel", 4, 1, gpu)
               .span("kernel", "nvshmem_put", 5, 1, gpu)
               .span("gpu_memcpy", "nccl", 6, 1, gpu)
               .text(),
           [](const Trace& trace) {
             const auto sum = DeviceWork::communication;
             expect_work(trace, {sum, sum, sum, sum, DeviceWork::computation, DeviceWork::memory});
           }}};
}

std::vector<Trap> traps_of_values() {
  const std::string gpu = "\"stream\": 7";
  return {
      {"times are microseconds whatever displayTimeUnit says",
       MadeTrace().span("kernel", "k", 10, 2, gpu).text(R"("displayTimeUnit": "ns", )"),
       [](const Trace& trace) {
         EXPECT_EQ(trace.device.front().span, (trace::Span{10'000, 12'000}));
       }},
      {"times since 1970 with decimals",
       MadeTrace().span("kernel", "k", "1712195495520871.123", 0.001, gpu).text(),
       [](const Trace& trace) {
         EXPECT_EQ(trace.device.front().span, (trace::Span{1712195495520871123, 1712195495520871124}));
       }},
      {"a kernel at time 0 is lost",
       MadeTrace().span("kernel", "k", "0", 1, gpu).span("kernel", "k", 5, 1, gpu).text(),
       [](const Trace& trace) {
         EXPECT_EQ(trace.device.size(), 1U);
         EXPECT_EQ(trace.report.device_events_at_0, 1U);
       }},
      {"integers of 64 bits without sign",
       MadeTrace()
           .span("kernel", "k", 1, 1,
                 R"("stream": 7, "correlation": 18446744073709551615, "Comms Id": 10159970886766084423)")
           .span("cuda_driver", "cuLaunchKernel", 0, 1, R"("correlation": 18446744073709551615)")
           .text(),
       [](const Trace& trace) { EXPECT_NE(trace.launch_of(trace.device.front()), nullptr); }},
      {"integers above 64 bits",
       MadeTrace()
           .span("kernel", "k", 1, 1, R"("stream": 7, "Comms Id": 340282366920938463463374607431768211456)")
           .text(),
       [](const Trace& trace) { EXPECT_EQ(trace.device.size(), 1U); }},
      {"times that are none",
       MadeTrace()
           .span("kernel", "k", "1e300", 1, gpu)
           .span("kernel", "k", "\"x\"", 1, gpu)
           .span("kernel", "k", 1, 1e18, gpu)
           .text(),
       [](const Trace& trace) { EXPECT_EQ(trace.report.unusable_events, 3U); }},
      {"a negative duration", MadeTrace().span("kernel", "k", 5, -1, gpu).text(),
       [](const Trace& trace) { EXPECT_EQ(trace.device.front().span.duration(), 0); }},
      {"stacks are skipped, but counted as numbered events; modules are kept",
       MadeTrace()
           .span("python_function", "train.py(7): step", 1, 5, "\"Ev Idx\": 0")
           .span("python_function", "nn.Module: Linear_0", 1, 5, "\"Ev Idx\": 1")
           .span("cpu_op", "aten::empty", 1, 5, "\"Ev Idx\": 3")
           .text(),
       [](const Trace& trace) {
         EXPECT_EQ(trace.host.size(), 1U);
         EXPECT_EQ(trace.report.numbered_events, 3U);
         EXPECT_EQ(trace.report.last_number, 3);
       }},
      {"lists are text, and strings that look like lists are no lists",
       MadeTrace()
           .span("user_annotation", "nccl:all_reduce", 1, 5,
                 R"("Input Dims": [[8, 1024], []], "Input type": ["float", "Scalar"])")
           .span("user_annotation", "nccl:all_reduce", 2, 5,
                 R"("Input Dims": "exec('x') ", "Process Group Ranks": "[0, 1]")")
           .text(),
       [](const Trace& trace) {
         EXPECT_EQ(trace.text(trace.host[0].shapes), "[[8,1024],[]]");
         EXPECT_EQ(trace.text(trace.host[0].types), "[\"float\",\"Scalar\"]");
       }},
      {"a top-level list of events",
       "[" + std::string(R"({"ph": "X", "cat": "kernel", "name": "k", "ts": 4, "dur": 1})") + "]",
       [](const Trace& trace) {
         EXPECT_EQ(trace.device.size(), 1U);
         EXPECT_FALSE(trace.report.is_empty_list);
       }}};
}

TEST(TraceReader, ReadsTheTrapsOfRealFiles) {
  auto all = traps_of_names();
  for (auto& trap : traps_of_values()) all.push_back(std::move(trap));
  for (const auto& [name, text, expect] : all) {
    SCOPED_TRACE(name);
    const auto traces = read("trap.json", text);
    ASSERT_EQ(traces.size(), 1U);
    EXPECT_EQ(traces.front().report.broken_places, 0U);
    expect(traces.front());
  }
}

TEST(TraceReader, ReadsObjectsInAListOfAnArgument) {
  const auto trace =
      MadeTrace()
          .span("kernel", "k", 2, 1, R"("stream": 7, "grid": [1, {"a": {}, "b": 2}, 3], "block": [{"c": 4}])")
          .read();
  EXPECT_EQ(trace.device.size(), 1U);
  EXPECT_EQ(trace.report.broken_places, 0U);
}

TEST(TraceReader, LeavesOutBrokenEventsAndSaysAtWhichByte) {
  const std::string kernel = R"({"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 1})";
  for (const std::string broken :
       {R"({"ph": "X", "cat": "cpu_op", "name": "say "hello"", "ts": 1, "dur": 1})",
        R"({"ph": "X", "name": nil})", "{\"ph\": \"X\", \"name\": \"\xff\xfe\"}", "{\"ph\" \"X\"}"}) {
    const std::string text = MadeTrace().raw(kernel).raw(broken).raw(kernel).raw(kernel).text();
    const auto trace = std::move(read("broken.json", text).front());
    EXPECT_EQ(trace.device.size(), 3U) << broken;
    EXPECT_EQ(trace.report.broken_places, 1U);
    ASSERT_TRUE(trace.report.first_broken_byte) << broken;
    EXPECT_GE(*trace.report.first_broken_byte, text.find(broken));
    EXPECT_LT(*trace.report.first_broken_byte, text.find(broken) + broken.size());
  }
  // Metadata before the events, too.
  const auto trace = MadeTrace().raw(kernel).read(R"("job": "say "hello"", )");
  EXPECT_EQ(trace.device.size(), 1U);
  EXPECT_EQ(trace.report.broken_places, 1U);
}

TEST(TraceReader, KeepsWhatIsBeforeACut) {
  const std::string text = MadeTrace().step(1, 1000).step(2, 1100).text();
  const std::string half = text.substr(0, text.find("ProfilerStep#2") + 5);
  const auto trace = std::move(read("cut.json", half).front());
  EXPECT_EQ(trace.device.size(), 5U);
  EXPECT_EQ(trace.report.cut_at_byte, half.size());
  EXPECT_EQ(trace.report.broken_places, 0U);
  const std::string archive = packed(text);
  const auto truncated = std::move(read("cut.gz", archive.substr(0, archive.size() / 2)).front());
  EXPECT_THAT(truncated.report.cut_because, HasSubstr("truncated"));
}

TEST(TraceReader, RefusesBombsAndOtherFiles) {
  EXPECT_THAT(error_of("deep", MadeTrace().raw(std::string(100'000, '[')).text()),
              HasSubstr("more than 64 levels at byte"));
  EXPECT_THAT(error_of("long", packed("{\"a\": \"" + std::string(40 << 20, 'x'))),
              HasSubstr("16 MiB in one piece at byte"));
  EXPECT_THAT(error_of("blank", packed("{" + std::string(40 << 20, ' '))), HasSubstr("16 MiB in one piece"));
  EXPECT_THAT(error_of("empty", ""), HasSubstr("found an empty file"));
  EXPECT_THAT(error_of("text", "hello"), HasSubstr("text that is not JSON at byte 0"));
  EXPECT_THAT(error_of("other", "{\"a\": 1}"),
              HasSubstr("expected a trace with \"traceEvents\", found none"));
  EXPECT_THAT(error_of("cut", "{\"schemaVersion\": 1, \"dev"),
              HasSubstr("ends early, at byte 25, before its events"));
  EXPECT_THAT(error_of("archive", tar_member("a.txt", "x")), HasSubstr("found none"));
  EXPECT_THROW(trace::read_inputs("/no/such/file", {}), ConfigError);
}

TEST(TraceReader, NeverKeepsHostsUsersAndPaths) {
  const auto trace =
      MadeTrace()
          .step(1, 1000)
          .span("user_annotation", "x", 1, 1, R"("Call stack": "/home/secret/a.py")")
          .read(
              R"("username": "secret", "host_name": "secret.example.org", "tw_user": "secret", "with_stack": 1,
         "deviceProperties": [{"id": 0, "name": "Tesla V100", "totalGlobalMem": 1}],
         "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, "pg_config": [{"rank": 99, "name": "secret"}]},
         "baseTimeNanoseconds": 1711964646000000000, )");
  EXPECT_EQ(trace.metadata.rank, 3);
  EXPECT_EQ(trace.metadata.world_size, 8);
  EXPECT_EQ(trace.metadata.backend, "nccl");
  EXPECT_EQ(trace.metadata.devices.at(0), "Tesla V100");
  EXPECT_EQ(trace.metadata.base, 1711964646000000000);
  EXPECT_TRUE(trace.metadata.has_stacks);
  for (trace::TextId id = 0; id < trace.texts.size(); ++id)
    EXPECT_EQ(trace.text(id).find("secret"), std::string::npos) << trace.text(id);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
