// YAML that would hang or exhaust memory gives one clear error, for files and for --set alike.
#include "workloads/experiment/safe_yaml.hpp"

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <string>

#include "tests/workloads/experiment/experiment_text.hpp"
#include "workloads/experiment/utf8.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::ExperimentFile;
using testing::minimal;
using testing::Refusal;
using testing::RefusedFile;

class RefusedYaml : public RefusedFile {};

TEST_P(RefusedYaml, SaysWhereAndWhy) { EXPECT_EQ(error_of(GetParam().text), GetParam().message); }

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

/// Each of nine lists has nine aliases of the one before: 9^9 values.
std::string alias_bomb() {
  std::string text = "l0: &l0 [x]\n";
  for (int level = 1; level <= 9; ++level) {
    const std::string alias = "*l" + std::to_string(level - 1) + ", ";
    text += "l" + std::to_string(level) + ": &l" + std::to_string(level) + " [" + repeated(alias, 9) + "]\n";
  }
  return text;
}

INSTANTIATE_TEST_SUITE_P(
    Texts, RefusedYaml,
    ::testing::Values(
        // yaml-cpp 0.7 produces documents from this text endlessly.
        Refusal{"EndlessDocuments", "# x\n ,024 nodes: what\n",
                "lab.yaml:2: expected one YAML document, found the start of a second one"},
        Refusal{"ManyDocuments", repeated("---\na: b\n", 1000),
                "lab.yaml:3: expected one YAML document, found the start of a second one"},
        Refusal{"DeepLists", repeated("[", 1000),
                "lab.yaml:1: expected at most 64 lists and maps inside each other, found more"},
        Refusal{"DeepMaps", repeated("{a: ", 1000),
                "lab.yaml:1: expected at most 64 lists and maps inside each other, found more"},
        Refusal{"DeepBlocks", repeated("- ", 1000) + "x\n",
                "lab.yaml:1: expected at most 64 lists and maps inside each other, found more"},
        Refusal{"AliasBomb", alias_bomb(),
                "lab.yaml:7: expected at most 500000 values, aliases expanded, found more; the document is "
                "too large"},
        // A million bytes of text, a thousand times.
        Refusal{
            "AliasesOfALongText",
            "a: &a " + repeated("x", 1 << 20) + "\nb: [" + repeated("*a, ", 1000) + "]\n",
            "lab.yaml:2: expected at most 8 MiB of text, aliases expanded, found more; the document is too "
            "large"},
        Refusal{
            "AliasesOfALongList",
            "a: &a [" + repeated("x", 1 << 20) + "]\nb: [" + repeated("*a, ", 1000) + "]\n",
            "lab.yaml:2: expected at most 8 MiB of text, aliases expanded, found more; the document is too "
            "large"},
        Refusal{"AliasInItself", "a: &a [b, *a]\n",
                "lab.yaml:1: expected a finite document, found an alias inside the list or map that it "
                "refers to"},
        Refusal{"ManyValues", "a: [" + repeated(",x", 600'000) + "]\n",
                "lab.yaml:1: expected at most 500000 values, aliases expanded, found more; the document is "
                "too large"},
        Refusal{"HugeFile", repeated("# comment\n", 1 << 20),
                "lab.yaml: expected at most 8 MiB of YAML, found a larger file"},
        Refusal{"Latin1", minimal + "# gr\xfc\xdf\n",
                "lab.yaml:3: expected text in UTF-8, found other bytes"},
        // yaml-cpp 0.7 takes this for UTF-32, and makes bytes of it that are no text.
        Refusal{"ZeroBytes", minimal + std::string("\x7f\0\0\0b, c]\n", 9),
                "lab.yaml:3: expected text in UTF-8, found a zero byte"},
        Refusal{"Binary",
                std::string("\x7f"
                            "ELF\x02\x01\x01\0\0\0\xff\xfe",
                            12),
                "lab.yaml:1: expected text in UTF-8, found other bytes"}),
    [](const auto& test) { return test.param.name; });

TEST_F(ExperimentFile, SettingsAreReadEquallySafely) {
  EXPECT_EQ(error_of(minimal, {{"placement.workers", "[a]\n,024 nodes: what"}}).find("--set: key "), 0U);
  EXPECT_EQ(error_of(minimal, {{"placement.workers", repeated("[", 100)}}),
            "--set: key 'placement.workers': expected at most 64 lists and maps inside each other, found "
            "more");
  EXPECT_EQ(error_of(minimal, {{"workload.model", "\xff"}}),
            "--set: key 'workload.model': expected text in UTF-8, found other bytes");
}

TEST_F(ExperimentFile, AliasesAndNestingWithinTheLimitsAreRead) {
  const Experiment loaded = load(minimal + "placement: {workers: &hosts [a, b], servers: *hosts}\n");
  EXPECT_EQ(loaded.placement.servers, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(parse_yaml(repeated("[", 60) + "x" + repeated("]", 60), {"text"}).size(), 1U);
}

TEST(ReadYamlText, RefusesEndlessAndMissingFiles) {
  EXPECT_THROW(read_yaml_text("/dev/zero", "experiment"), ConfigError);
  EXPECT_THROW(read_yaml_text("/nowhere", "suite"), ConfigError);
}

TEST(Utf8, InvalidBytesAreFound) {
  for (const char* text :
       {"", "plain", "gr\xc3\xbc\xc3\x9f", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xef\xbb\xbf"})
    EXPECT_TRUE(is_utf8(text)) << text;
  // A lone continuation byte, a truncated sequence, overlong, a surrogate, beyond U+10FFFF.
  for (const char* text : {"ab\x80", "ab\xc3", "ab\xe2\x82", "ab\xc0\x80", "ab\xe0\x80\x80", "ab\xed\xa0\x80",
                           "ab\xf4\x90\x80\x80", "ab\xf0\x80\x80\x80", "ab\xff"})
    EXPECT_EQ(first_not_utf8(text), 2U) << text;
}

}  // namespace TANDEM_FILE
}  // namespace tandem
