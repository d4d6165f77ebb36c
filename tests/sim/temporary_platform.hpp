// Small platform files for tests, written to a temporary folder and removed at the end.
#pragma once

#include <fmt/format.h>

#include <string>

#include "tests/support/temporary_folder.hpp"

namespace tandem::testing {

class TemporaryPlatform {
 public:
  /// `body`: the contents of <platform>.
  explicit TemporaryPlatform(const std::string& body)
      : path_(folder_.write(
            "platform.xml",
            "<?xml version='1.0'?>\n"
            "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\">\n" +
                body + "</platform>\n")) {}
  const std::string& path() const { return path_; }

  /// A star of `hosts` hosts host-0, host-1, ... with a disk each: every host has a separate full-duplex link
  /// of `bandwidth` B/s and half of `latency_s`, so that the latency between any two is `latency_s`.
  static std::string star(int hosts, double bandwidth, double latency_s,
                          const std::string& host_properties = "") {
    std::string body = "<zone id='star' routing='Floyd'>\n";
    for (int host = 0; host < hosts; ++host)
      body += fmt::format(
          "<host id='host-{}' speed='1Gf' core='2'><disk id='disk' read_bw='100MBps' "
          "write_bw='50MBps'/>{}</host>\n",
          host, host_properties);
    body += "<router id='switch'/>\n";
    for (int host = 0; host < hosts; ++host)
      body += fmt::format("<link id='l{}' bandwidth='{}Bps' latency='{}s' sharing_policy='SPLITDUPLEX'/>\n",
                          host, bandwidth, latency_s / 2);
    for (int host = 0; host < hosts; ++host)
      body += fmt::format("<route src='host-{0}' dst='switch'><link_ctn id='l{0}' direction='UP'/></route>\n",
                          host);
    return body + "</zone>\n";
  }

 private:
  TemporaryFolder folder_;
  std::string path_;
};

}  // namespace tandem::testing
