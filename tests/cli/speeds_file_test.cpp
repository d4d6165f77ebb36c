// Tables of training speeds: what is read, and what is refused.
#include "cli/fit/speeds_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policies/vocabulary/check.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tandem::cli {
namespace TANDEM_FILE {

using ::testing::HasSubstr;

class SpeedsFile : public ::testing::Test {
 protected:
  std::vector<SpeedsRow> read(const std::string& text) const {
    return read_speeds_file(folder_.write("speeds.csv", text));
  }
  void refuses(const std::string& text, const std::string& part) const {
    try {
      read(text);
      FAIL() << "accepted: " << part;
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr(part));
      EXPECT_THAT(error.what(), HasSubstr("speeds.csv"));
    }
  }
  tandem::testing::TemporaryFolder folder_;
};

TEST_F(SpeedsFile, HasColumnsInAnyOrder) {
  const auto rows = read(
      "# published, figure 5\nmodel, steps_per_second, source, workers\r\nresnet50, 12.5, p. 7, 4\r\n\n"
      "vgg16,3,,1\n");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].model, "resnet50");
  EXPECT_EQ(rows[0].workers, 4);
  EXPECT_DOUBLE_EQ(rows[0].steps_per_second, 12.5);
  EXPECT_THAT(rows[0].place, HasSubstr("speeds.csv:3"));
  EXPECT_THAT(rows[1].place, HasSubstr("speeds.csv:5"));
}

TEST_F(SpeedsFile, RefusesWhatCannotBeFitted) {
  const std::string head = "workers,model,steps_per_second\n";
  refuses("", "expected a table of training speeds with a header, found no line");
  refuses("workers,model,speed\n", ":1: expected a column 'steps_per_second', found none");
  refuses(head, "expected at least two rows with different numbers of workers, found none");
  refuses(head + "1,lenet,5\n",
          "expected at least two rows with different numbers of workers, found one row");
  refuses(head + "2,lenet,5\n2,mlp,7\n", "found 2 rows with 2");
  refuses(head + "1,lenet,5\n1,lenet,6\n", ":3: expected each model and number of workers once");
  refuses(head + "1,lenet\n", ":2: expected 3 fields, found 2");
  refuses(head + "0,lenet,5\n", ":2: workers: expected a whole number from 1 to 1000000, found '0'");
  refuses(head + "two,lenet,5\n", "found 'two'");
  refuses(head + "1000001,lenet,5\n", "found '1000001'");
  refuses(head + "1.5,lenet,5\n", "found '1.5'");
  refuses(head + "1,lenet,5/s\n", ":2: steps_per_second: expected a number above 0, found '5/s'");
  refuses(head + "1,lenet,-5\n", "found '-5'");
  refuses(head + "1,,5\n", "expected the name of a model");
  EXPECT_THROW(read_speeds_file((folder_.path() / "none").string()), ConfigError);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::cli
