// Structs that declare their keys once: what is written is read again, and what is not as declared is named.
#include "workloads/experiment/json_fields.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace TANDEM_FILE {

struct Part {
  Seconds time{};
  std::vector<std::pair<std::int64_t, double>> pairs{};
};
struct Whole {
  MixedNumber count{};
  double mean = 0;
  std::optional<std::string> text{}, absent{};
  std::optional<std::optional<int>> unknown{};
  int later = 7;
  std::vector<int> none{};
  std::map<std::string, Part> parts{};
};

}  // namespace TANDEM_FILE

template <>
struct Fields<TANDEM_FILE::Part> {
  static void visit(auto& p, auto&& field) {
    field("time_s", p.time);
    field("pairs", p.pairs);
  }
};
template <>
struct Fields<TANDEM_FILE::Whole> {
  static void visit(auto& w, auto&& field) {
    field("count", w.count);
    field("mean", w.mean);
    field("text", w.text);
    field("absent", w.absent, Key::optional);
    field("unknown", w.unknown, Key::optional);
    field("later", w.later, Key::added);
    field("none", w.none, Key::nullable);
    field("parts", w.parts);
  }
};

namespace TANDEM_FILE {

using nlohmann::json;

const char* const document =
    R"({"count":3,"later":7,"mean":null,"none":null,"parts":{"a":{"pairs":[[1,0.5]],"time_s":2.0}},)"
    R"("text":null,"unknown":null})";

TEST(JsonFields, RoundTrip) {
  Whole whole{.count = std::int64_t{3}, .mean = std::nan(""), .unknown = std::optional<int>()};
  whole.parts["a"] = {Seconds(2), {{1, 0.5}}};
  EXPECT_EQ(write_fields(whole).dump(), document);
  const auto read = read_fields<Whole>(json::parse(document), "file");
  EXPECT_EQ(write_fields(read).dump(), document);
  EXPECT_TRUE(std::isnan(read.mean));
  EXPECT_TRUE(read.unknown.has_value());
  EXPECT_FALSE(read.absent);
}

TEST(JsonFields, FilesOfOlderVersionsLackKeys) {
  json older = json::parse(document);
  for (const char* key : {"later", "none", "unknown"}) older.erase(key);
  const auto read = read_fields<Whole>(older, "file");
  EXPECT_EQ(read.later, 7);
  EXPECT_FALSE(read.unknown);
}

TEST(JsonFields, WhatIsNotAsDeclaredIsNamed) {
  const auto error_of = [](const json& changes) -> std::string {
    json changed = json::parse(document);
    changed.merge_patch(changes);
    try {
      read_fields<Whole>(changed, "out/file.json");
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(error_of(json::object()), "none");
  EXPECT_EQ(error_of({{"mean", "large"}}), "out/file.json: /mean: expected a number, found a text");
  EXPECT_EQ(error_of({{"count", nullptr}}), "out/file.json: expected the key 'count', found none");
  EXPECT_EQ(error_of({{"parts", {{"a", {{"pairs", {{1, 2, 3}}}}}}}}),
            "out/file.json: /parts/a/pairs/0: expected a list of 2, found a list");
  EXPECT_EQ(error_of({{"parts", {{"a", {{"time_s", nullptr}}}}}}),
            "out/file.json: /parts/a: expected the key 'time_s', found none");
  EXPECT_EQ(error_of({{"parts", json::array()}}),
            "out/file.json: /parts: expected keys with values, found a list");
}

}  // namespace TANDEM_FILE
}  // namespace tandem
