// The Debian package: its programs link libraries of packages that it depends on, and nothing else that this
// machine has.
#include <gtest/gtest.h>

#include <memory>
#include <sstream>

#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class DebianPackage : public ::testing::Test {
 protected:
  /// Made once: it takes seconds.
  static void SetUpTestSuite() {
    line_ = std::make_unique<CommandLine>();
    made_ = line_->shell("cpack -G DEB --config '" + testing::build_folder() +
                         "/CPackConfig.cmake' -B made && dpkg-deb -x made/*.deb files");
  }
  static void TearDownTestSuite() { line_.reset(); }
  void SetUp() override {
    if (line_->shell("command -v dpkg-shlibdeps").exit_code != 0) GTEST_SKIP() << "dpkg-dev is not installed";
    ASSERT_EQ(made_.exit_code, 0) << made_.output;
  }
  static std::string output(const std::string& command) { return line_->shell(command).output; }

  static inline std::unique_ptr<CommandLine> line_;
  static inline CommandResult made_;
};
using LongDebianPackage = DebianPackage;

TEST_F(LongDebianPackage, DependsOnThePackageOfEachLibraryThatItsProgramsLink) {
  const std::string depends = ", " + output("dpkg-deb -f made/*.deb Depends");
  for (const std::string program : {"tandem", "tandem-rank"}) {
    std::istringstream libraries(
        output("readelf -d files/usr/bin/" + program + " | sed -n 's/.*(NEEDED).*\\[\\(.*\\)\\]/\\1/p'"));
    int count = 0;
    for (std::string library; std::getline(libraries, library); ++count) {
      if (library.starts_with("ld-linux")) continue;
      // Packages of before the merge of / and /usr name /lib.
      const std::string package =
          output("path=$(realpath $(ldd files/usr/bin/" + program + " | awk '$1 == \"" + library +
                 "\" {print $3}')); { dpkg-query -S $path || dpkg-query -S ${path#/usr}; } 2> /dev/null | "
                 "cut -d : -f 1");
      const std::string name = package.substr(0, package.find('\n'));
      EXPECT_TRUE(depends.find(", " + name + " (") != std::string::npos ||
                  depends.find(", " + name + ",") != std::string::npos ||
                  depends.ends_with(", " + name + "\n"))
          << program << " links " << library << " of package '" << name << "'; Depends: " << depends;
    }
    EXPECT_GT(count, 5) << program;
  }
}

TEST_F(LongDebianPackage, RunsFromWhereItIsUnpacked) {
  const auto ran = line_->shell(
      "mkdir empty && cd empty && ../files/usr/bin/tandem run workloads/experiments/quick.yaml --set "
      "workload.math=modelled --set stop.rounds=3 --set run.devices=emulated --out ran");
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
}

TEST_F(LongDebianPackage, IsNotMadeOfProgramsThatLinkOtherLibraries) {
  // A program with a library that no package has, staged as cpack stages it.
  const auto refused = line_->shell(
      "mkdir -p staged/usr/bin && printf 'int answer() { return 42; }' > a.cpp && "
      "printf 'int answer(); int main() { return answer(); }' > b.cpp && "
      "c++ -shared -fPIC a.cpp -o libnobody.so && c++ b.cpp -L. -lnobody -Wl,-rpath,$PWD -o staged/usr/bin/b "
      "&& cmake -DCPACK_GENERATOR=DEB -DCPACK_TEMPORARY_DIRECTORY=$PWD/staged -P '" +
      testing::source_folder() + "/cli/check_package.cmake'");
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_NE(refused.output.find("libnobody.so, of"), std::string::npos) << refused.output;
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
