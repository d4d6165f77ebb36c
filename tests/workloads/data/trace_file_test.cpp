// Traces of requests: every type gives the same requests, and bad files are refused with their place.
#include "workloads/data/trace_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "policies/vocabulary/check.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tandem {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class Traces : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    return folder_.write(name, text);
  }
  static std::string record(std::uint64_t id, std::uint32_t size) {
    std::string bytes(24, '\0');
    std::memcpy(bytes.data() + 4, &id, sizeof id);
    std::memcpy(bytes.data() + 12, &size, sizeof size);
    return bytes;
  }
  static std::string text_of(const TraceFile& file) {
    std::string text;
    for (const auto& [id, size] : file.trace.view().requests)
      text += std::to_string(id) + ":" + std::to_string(size) + " ";
    return text;
  }
  testing::TemporaryFolder folder_;
};

TEST_F(Traces, OfEveryTypeGiveTheSameRequests) {
  const std::string expected = "0:10 1:20 0:10 2:5 ";
  EXPECT_EQ(text_of(read_trace(write("a.csv", "7,10\n9,20\n7,10\n\n8,5\n"), {.type = "csv"})), expected);
  EXPECT_EQ(text_of(read_trace(
                write("b.csv", "time;object;size\n1; x ;10\r\n2;y;20\n3;x;10\n4;z;5\n"),
                {.type = "csv", .id_column = 2, .size_column = 3, .delimiter = ';', .has_header = true})),
            expected);
  EXPECT_EQ(text_of(read_trace(write("c", record(7, 10) + record(9, 20) + record(7, 10) + record(8, 5)),
                               {.type = "oracleGeneral"})),
            expected);
  EXPECT_EQ(text_of(read_trace(write("d.txt", "7\n9\n7\nname\n"), {.type = "txt"})), "0:1 1:1 0:1 2:1 ");
  EXPECT_EQ(text_of(read_trace(write("e.csv", "7\n9\n"), {.type = "csv", .size_column = 0})), "0:1 1:1 ");
  EXPECT_EQ(text_of(read_trace(write("f.csv", "7,10\n9,20\n"), {.type = "csv", .ignores_sizes = true})),
            "0:1 1:1 ");
}

TEST_F(Traces, KnowTheirWorkingSetAndTheNextRequests) {
  auto file = read_trace(write("a.csv", "7,10\n9,0\n8,20\n7,12\n"), {.type = "csv"});
  EXPECT_EQ(file.skipped, 1) << "no bytes";
  EXPECT_EQ(file.trace.objects(), 2);
  EXPECT_EQ(file.trace.working_set(), 32) << "the largest size of each";
  file.trace.find_next_requests();
  EXPECT_THAT(file.trace.view().next, ::testing::ElementsAre(2U, 3U, 3U));
}

TEST_F(Traces, BadFilesAreRefusedWithTheirPlace) {
  const auto refuses = [&](const std::string& path, const TraceFormat& format, const auto&... parts) {
    EXPECT_THAT([&] { read_trace(path, format); }, ThrowsMessage<ConfigError>(AllOf(HasSubstr(parts)...)))
        << path;
  };
  refuses("nowhere", {.type = "csv"}, "nowhere", "no file");
  refuses(write("a", "1,1\n"), {.type = "cvs"}, "csv", "oracleGeneral", "'cvs'");
  refuses(write("empty.csv", ""), {.type = "csv"}, "empty.csv", "an empty file");
  refuses(write("zero.csv", "1,0\n"), {.type = "csv"}, "1 of no bytes");
  refuses(write("b.csv", "1,1\n2\n"), {.type = "csv"}, "b.csv:2", "column 2", "'2'", "size-col=0");
  refuses(write("c.csv", "1,1\n2,-4\n"), {.type = "csv"}, "c.csv:2", "from 0 to 2^50", "'-4'");
  refuses(write("d.csv", "1,9999999999999999999\n"), {.type = "csv"}, "d.csv:1", "2^50");
  refuses(write("e.csv", "id,size\n1,1\n"), {.type = "csv"}, "e.csv:1", "'size'");
  refuses(write("f.csv", "1,1\n,2\n"), {.type = "csv"}, "f.csv:2", "an id in column 1");
  refuses(write("g.csv", record(1, 1)), {.type = "csv"}, "g.csv:1", "text", "zero byte");
  refuses(write("h.bin", record(1, 1) + "abc"), {.type = "oracleGeneral"}, "at byte 24",
          "3 bytes at the end");
  refuses(write("i.zst", "1"), {.type = "txt"}, "zstd -d");
}

}  // namespace
}  // namespace tandem
