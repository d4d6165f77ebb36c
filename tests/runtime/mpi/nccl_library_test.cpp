// The real NCCL of this machine, without a GPU: the build found it, so it loads.
#include "runtime/mpi/nccl_library.hpp"

#include <gtest/gtest.h>

namespace tandem {
namespace TANDEM_FILE {

TEST(NcclLibrary, LoadsFromTheFolderOfTheBuild) {
  std::string reason;
  const auto library = load_nccl(TANDEM_NCCL_LIBRARY, reason);
  ASSERT_TRUE(library) << reason;
  EXPECT_STREQ(library->get_error_string(ncclSuccess), "no error");
  EXPECT_EQ(library->can_register(), NCCL_VERSION_CODE >= NCCL_VERSION(2, 19, 1));
}

TEST(NcclLibrary, OneThatIsMissingIsNamed) {
  std::string reason;
  EXPECT_FALSE(load_nccl("libnccl-of-nobody.so.2", reason));
  EXPECT_NE(reason.find("libnccl-of-nobody.so.2"), std::string::npos) << reason;
}

TEST(NcclLibrary, AnotherLibraryIsRefusedAndTheFunctionNamed) {
  std::string reason;
  EXPECT_FALSE(load_nccl("libm.so.6", reason));
  EXPECT_NE(reason.find("ncclAllGather"), std::string::npos) << reason;
}

}  // namespace TANDEM_FILE
}  // namespace tandem
