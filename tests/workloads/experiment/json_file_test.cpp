// Messages for damaged JSON files name file, line and key.
#include "workloads/experiment/json_file.hpp"

#include <gtest/gtest.h>

#include "policies/vocabulary/check.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tandem {
namespace TANDEM_FILE {

using nlohmann::json;

class JsonFiles : public ::testing::Test {
 protected:
  /// The message for a file of this text, without the folder.
  std::string message(const std::string& text, const json& example = json()) const {
    try {
      const JsonFile file(folder_.write("a.json", text), "a profile");
      if (!example.is_null()) file.expect_like(example);
    } catch (const ConfigError& error) {
      return std::string(error.what()).substr(folder_.path().string().size() + 1);
    }
    return "no error";
  }
  const testing::TemporaryFolder folder_;
};

TEST_F(JsonFiles, AFileThatIsMissing) {
  EXPECT_THROW(read_json_file(folder_.path("none.json"), "a profile"), ConfigError);
}

TEST_F(JsonFiles, TruncatedOrInvalidTextNamesLineAndColumn) {
  EXPECT_TRUE(message("{\n \"a\": 1,\n \"b\": [1, 2")
                  .starts_with("a.json:3:12: expected a profile, found invalid JSON (syntax error while "
                               "parsing array - unexpected end"))
      << message("{\n \"a\": 1,\n \"b\": [1, 2");
  EXPECT_TRUE(message("{\n \"a\": one\n}").starts_with("a.json:2:7: expected a profile, found invalid JSON"))
      << message("{\n \"a\": one\n}");
  EXPECT_TRUE(message("").starts_with("a.json:1:1: expected a profile, found invalid JSON")) << message("");
}

TEST_F(JsonFiles, AnotherStructureNamesLineAndKey) {
  const json example = {{"name", ""}, {"paths", json::array({{{"bytes", 1}, {"raw", json::array()}}})}};
  const auto text = [](const std::string& name, const std::string& bytes) {
    return "{\n  \"name\": " + name + ",\n  \"paths\": [\n    {\"bytes\": 1, \"raw\": []},\n    {\n      " +
           bytes + ",\n      \"raw\": [1, 2]\n    }\n  ]\n}\n";
  };
  EXPECT_EQ(message(text("\"x\"", "\"bytes\": 2"), example), "no error");
  EXPECT_EQ(message(text("\"x\"", "\"bytes\": \"2\""), example),
            "a.json:6: not a profile: /paths/1/bytes: expected a number, found a text");
  EXPECT_EQ(message(text("\"x\"", "\"size\": 2"), example),
            "a.json:5: not a profile: /paths/1/bytes: expected a number, found no such key");
  EXPECT_EQ(message(text("null", "\"bytes\": 2"), example),
            "a.json:2: not a profile: /name: expected a text, found null");
  EXPECT_EQ(message("[]", example), "a.json: not a profile: expected keys with values, found a list");
}

TEST_F(JsonFiles, DeepNestingTakesLittleMemory) {
  const std::string text = std::string(200'000, '[') + std::string(200'000, ']');
  EXPECT_EQ(message(text, json::array({1})), "a.json:1: not a profile: /0: expected a number, found a list");
}

TEST_F(JsonFiles, ALongTokenIsCutInTheMessage) {
  const std::string found = message("{\"a\": \"" + std::string(1'000'000, 'x'));
  EXPECT_TRUE(found.starts_with("a.json:1:1000008: expected a profile, found invalid JSON"))
      << found.substr(0, 100);
  EXPECT_LT(found.size(), 300U);
}

/// A number ends where the next character is read, which may be on the next line.
TEST_F(JsonFiles, LinesOfListElements) {
  const json example = json::array({1});
  EXPECT_EQ(message("[\n1,\n2,\n\"3\"\n]", example),
            "a.json:4: not a profile: /2: expected a number, found a text");
  const json texts = json::array({""});
  EXPECT_EQ(message("[\n\"1\",\n2\n]", texts),
            "a.json:3: not a profile: /1: expected a text, found a number");
}

}  // namespace TANDEM_FILE
}  // namespace tandem
