// How a job on this machine starts.
#include <gtest/gtest.h>

#include "tests/cli/command.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

/// Each of the five ranks maps the records that the command has read, instead of reading them again.
TEST(LongStartUp, RanksMapTheDataSetThatTheCommandHasRead) {
  const CommandLine line("real");
  const auto result =
      line.shell("\"$TANDEM\" run " + line.experiment() +
                 " --set stop.rounds=1000000 --out out > out.txt 2>&1 & run=$!; "
                 "for i in $(seq 600); do sleep 0.1; ranks=$(for p in $(pgrep -x tandem-rank); do "
                 "[ \"$(readlink /proc/$p/cwd)\" = \"$PWD\" ] && grep -l tandem-dataset /proc/$p/maps 2> "
                 "/dev/null; done | "
                 "wc -l); [ $ranks = 5 ] && break; kill -0 $run || break; done; kill -TERM $run; wait; echo "
                 "$ranks ranks");
  EXPECT_NE(result.output.find("5 ranks\n"), std::string::npos)
      << result.output << line.shell("cat out.txt").output;
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
