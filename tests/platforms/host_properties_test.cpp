// Properties written into the text of a platform file: only they change.
#include "platforms/host_properties.hpp"

#include <gtest/gtest.h>

#include "policies/vocabulary/check.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tandem::platforms {
namespace TANDEM_FILE {

class HostProperties : public ::testing::Test {
 protected:
  std::string changed(const std::string& zone, const std::vector<std::string>& hosts = {"a"}) const {
    const std::string path = folder_.write("lab.xml", head_ + zone + tail_);
    return with_host_properties(path, hosts, {{"new", "1 & 2"}}, {"new", "old"});
  }
  std::string whole(const std::string& zone) const { return head_ + zone + tail_; }

  testing::TemporaryFolder folder_;
  std::string head_ =
      "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
      "<platform version=\"4.1\">\n<!-- <host id='a'> is the server -->\n<zone id='z' routing='Full'>\n";
  std::string tail_ = "</zone>\n</platform>\n";
  std::string added_ = "\n      <prop id=\"new\" value=\"1 &amp; 2\"/>";
};

TEST_F(HostProperties, AreAddedToAnEmptyElement) {
  EXPECT_EQ(
      changed("    <host id='a' speed='1Gf'/>\n    <host id=\"b\" speed='1Gf'/>\n"),
      whole("    <host id='a' speed='1Gf'>" + added_ + "\n    </host>\n    <host id=\"b\" speed='1Gf'/>\n"));
}

TEST_F(HostProperties, TakeThePlaceOfOldOnes) {
  EXPECT_EQ(changed("<host id='a' speed='1Gf'>\n  <prop id='old' value='x'/>\n  <prop id='kept' value='y'/>"
                    "<prop id='new' value='z'></prop>\n</host>\n"),
            whole("<host id='a' speed='1Gf'>" + added_ + "\n  <prop id='kept' value='y'/>\n</host>\n"));
}

TEST_F(HostProperties, OfOtherHostsAndDisksStay) {
  const std::string rest = "<host id='b' speed='1Gf'><prop id='old' value='x'/></host>\n";
  EXPECT_EQ(changed("<host id='a' speed='1Gf'><disk id='d' read_bw='1Bps' write_bw='1Bps'/></host>\n" + rest),
            whole("<host id='a' speed='1Gf'>" + added_ +
                  "<disk id='d' read_bw='1Bps' write_bw='1Bps'/></host>\n" + rest));
}

TEST_F(HostProperties, OfAClusterAreRefused) {
  try {
    changed("<host id='a' speed='1Gf'/>\n", {"a", "node-3"});
    FAIL() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("expected an element <host id=\"node-3\">"), std::string::npos)
        << error.what();
  }
}

TEST_F(HostProperties, RatesOfLinksChangeAlone) {
  const auto with = [&](const std::string& zone, const std::string& link) {
    const std::string path = folder_.write("lab.xml", head_ + zone + tail_);
    return with_link_rates(path, {{link, {"2MBps", "3us"}}});
  };
  EXPECT_EQ(with("<link id='l' bandwidth = \"1Bps\"\n latency='0'/><link id='m' bandwidth='1Bps'/>\n", "l"),
            whole("<link id='l' bandwidth = \"2MBps\"\n latency='3us'/><link id='m' bandwidth='1Bps'/>\n"));
  EXPECT_EQ(with("<link id='m' bandwidth='1Bps'><prop id='bandwidth' value='x'/></link>\n", "m"),
            whole("<link id='m' bandwidth='2MBps' latency=\"3us\"><prop id='bandwidth' value='x'/></link>\n"));
  EXPECT_THROW(with("<link id='m' bandwidth='1Bps'/>\n", "l"), ConfigError);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::platforms
