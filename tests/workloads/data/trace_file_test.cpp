// Traces of requests: every type gives the same requests, and bad files are refused with their place.
#include "workloads/data/trace_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <cstring>
#include <string>

#include "policies/vocabulary/check.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tandem {
namespace TANDEM_FILE {

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

TEST_F(Traces, OfRecordsGiveTheSameRequests) {
  const std::vector<std::pair<std::uint64_t, std::uint32_t>> requests = {{7, 10}, {9, 20}, {7, 10}, {8, 5}};
  const std::string expected = "0:10 1:20 0:10 2:5 ";
  const auto bytes_of = [](auto value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  };
  const auto all = [&](const auto& encode) {
    std::string bytes;
    for (const auto& [id, size] : requests) bytes += encode(id, size);
    return bytes;
  };
  const std::string usual = all([&](auto id, auto size) { return record(id, size); });
  const auto magic = bytes_of(std::uint64_t{0x123456789abcdef0ULL});
  const auto lcs = [&](std::uint64_t version) {
    std::string header = magic + bytes_of(version);
    header.resize(8184);
    return header + magic;
  };
  EXPECT_EQ(text_of(read_trace(write("v1.lcs", lcs(1) + usual), {.type = "lcs"})), expected);
  const std::string wide = all([&](auto id, auto size) {
    return bytes_of(std::uint32_t{1}) + bytes_of(id) + bytes_of(std::int64_t{size}) + std::string(16, 'x');
  });
  EXPECT_EQ(text_of(read_trace(write("v3.lcs", lcs(3) + wide), {.type = "auto"})), expected);

  // 2024: the header names the fields; the id is the second, the size the third.
  std::string header = magic + "<IQI";
  header.resize(8 + 240);
  header += std::string("\x02\x03", 2);
  header.resize(1000);
  header += bytes_of(std::uint32_t{3}) + bytes_of(std::uint32_t{16}) + bytes_of(std::uint64_t{1}) + magic;
  const std::string three =
      all([&](auto id, auto size) { return bytes_of(std::uint32_t{1}) + bytes_of(id) + bytes_of(size); });
  EXPECT_EQ(text_of(read_trace(write("old.lcs", header + three), {.type = "lcs"})), expected);
  EXPECT_EQ(text_of(read_trace(write("three", three),
                               {.type = "binary", .record = "<IQI", .id_column = 2, .size_column = 3})),
            expected);
  const std::string signed_sizes = all([&](auto id, auto size) {
    return bytes_of(static_cast<std::int16_t>(size)) + bytes_of(static_cast<float>(id));
  });
  EXPECT_EQ(text_of(read_trace(write("short", signed_sizes),
                               {.type = "binary", .record = "hf", .id_column = 2, .size_column = 1})),
            expected);

  const std::string first = all([&](auto id, auto size) {
    return bytes_of(std::uint32_t{1}) + bytes_of(size) + bytes_of(std::uint32_t{0}) +
           bytes_of(std::uint16_t{42}) + bytes_of(std::uint16_t{0x0100}) + bytes_of(id) +
           bytes_of(std::uint64_t{5});
  });
  EXPECT_EQ(text_of(read_trace(write("first.vscsi", first), {.type = "vscsi"})), expected);
  const std::string second = all([&](auto id, auto size) {
    return bytes_of(std::uint16_t{42}) + bytes_of(std::uint16_t{0x0200}) + bytes_of(std::uint32_t{1}) +
           bytes_of(size) + bytes_of(std::uint32_t{0}) + bytes_of(id) + bytes_of(std::uint64_t{5}) +
           bytes_of(std::uint64_t{6});
  });
  EXPECT_EQ(text_of(read_trace(write("second.vscsi", second), {.type = "auto"})), expected);

  // The sizes of key and value: 3 and the rest.
  const std::string twr = all([&](auto id, auto size) {
    return bytes_of(std::uint32_t{1}) + bytes_of(id) + bytes_of((std::uint32_t{3} << 22U) | (size - 3)) +
           bytes_of(std::uint32_t{0});
  });
  EXPECT_EQ(text_of(read_trace(write("a.twr", twr), {.type = "auto"})), expected);
  const std::string spaced = all([&](auto id, auto size) { return record(id, size) + "ops"; });
  EXPECT_EQ(text_of(read_trace(write("x.oracleGeneralOpNS.bin", spaced), {.type = "auto"})), expected);
}

TEST_F(Traces, AreUnpackedOnTheWay) {
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += std::to_string(i % 1000) + "," + std::to_string(1 + i % 7) + "\n";
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 19));
  const auto plain = read_trace(write("plain.csv", text), {.type = "csv"});
  double share = 0;
  const auto unpacked =
      read_trace(write("packed.csv.zst", packed), {.type = "auto"}, [&](double now) { share = now; });
  EXPECT_EQ(text_of(unpacked), text_of(plain));
  EXPECT_EQ(text_of(read_trace(write("packed.csv.zst.22", packed), {.type = "auto"})), text_of(plain));
  EXPECT_LE(share, 1.0);
  const auto refuses = [&](const std::string& name, const std::string& bytes, const std::string& what) {
    EXPECT_THAT([&] { read_trace(write(name, bytes), {.type = "csv"}); },
                ThrowsMessage<ConfigError>(AllOf(HasSubstr(name), HasSubstr(what))));
  };
  refuses("cut.csv.zst", packed.substr(0, packed.size() - 5), "truncated");
  refuses("other.csv.zst", text, "packed by zstd");
  refuses("none.csv.zst", "", "empty file");
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
  refuses(write("long.lcs", std::string(9000, 'x')), {.type = "lcs"}, "long.lcs", "start mark");
  refuses(write("a.vscsi", std::string(100, 'x')), {.type = "vscsi"}, "version 1 or 2");
  refuses(write("b.bin", record(1, 1)), {.type = "binary"}, "format=<IQI", "found none");
  refuses(write("c.bin", record(1, 1)), {.type = "binary", .record = "<IZ"}, "'<IZ'");
  refuses(write("d.bin", record(1, 1)), {.type = "binary", .record = "<QQ", .id_column = 3}, "id",
          "from 1 to 2");
  refuses(write("e.bin", std::string(16, '\xff')), {.type = "binary", .record = "qq"}, "at byte 0", "2^50",
          "-1");
  refuses(write("unknown.name", "1\n"), {.type = "auto"}, "tells the type", "'unknown.name'");
  refuses(write("h.bin", record(1, 1) + "abc"), {.type = "oracleGeneral"}, "at byte 24",
          "3 bytes at the end");
}

}  // namespace TANDEM_FILE
}  // namespace tandem
