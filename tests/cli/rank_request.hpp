// What a stand-in for tandem-rank (rank_stand_in.cpp) asks of the server of ranks (rank_server.cpp), over a
// socket of sequenced packets: one request with the descriptors 0 to 2, then numbers of signals. The answer
// is the status of the rank as waitpid reports it.
#pragma once

#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::testing {

/// Path of the server's socket.
constexpr const char* rank_server_variable = "TANDEM_RANK_SERVER";
/// Of a request, and of a socket's buffer.
constexpr std::size_t largest_request = std::size_t{1} << 17;

inline sockaddr_un rank_server_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
  return address;
}

/// What a process gets from the one that starts it.
struct RankRequest {
  struct Fixed {
    std::size_t arguments = 0;
    mode_t mask = 0;
    cpu_set_t processors{};
    std::array<rlimit, RLIM_NLIMITS> limits{};
  };
  Fixed fixed;
  std::string folder;
  std::vector<std::string> words;  ///< the arguments, the program first, then the variables

  std::string text() const {
    std::string all(reinterpret_cast<const char*>(&fixed), sizeof fixed);
    all += folder + '\0';
    for (const auto& word : words) all += word + '\0';
    return all;
  }
  static RankRequest parse(std::string_view text) {
    RankRequest request;
    std::memcpy(&request.fixed, text.data(), sizeof request.fixed);
    std::vector<std::string> words;
    for (text.remove_prefix(sizeof request.fixed); !text.empty();) {
      words.emplace_back(text.data());
      text.remove_prefix(words.back().size() + 1);
    }
    request.folder = words.front();
    request.words.assign(words.begin() + 1, words.end());
    return request;
  }
};

/// A message with room for three descriptors.
struct RankMessage {
  explicit RankMessage(void* data, std::size_t size) : part{data, size} {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
  }
  RankMessage(const RankMessage&) = delete;
  RankMessage& operator=(const RankMessage&) = delete;

  static constexpr std::size_t descriptors = 3 * sizeof(int);
  iovec part;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(descriptors)> control{};
  msghdr header{};
};

}  // namespace tandem::testing
