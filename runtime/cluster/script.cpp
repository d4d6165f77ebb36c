#include "runtime/cluster/script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

namespace tandem::cluster {
namespace {

// Both ends of every pair have this address. A device without ARP sends to its own address, which is also its
// peer's, so nothing is broadcast and no neighbour is unknown.
constexpr const char* mac = "02:00:00:00:00:01";
constexpr const char* fabric_control = "10.78.255.254";
constexpr int first_table = 1000;
constexpr int first_exit_table = 20000;

// Credit of an idle shaper: its timer may be late by this much before throughput is lost, and a message may
// be early by this much. With a third of it, four shapers in a row lost up to a fifth of their rate.
constexpr double burst_s = 600e-6;
constexpr double least_burst_bytes = 3200;  // two packets
constexpr double leaf_bits_per_second = 64e3;

using Out = std::back_insert_iterator<std::string>;

void add_pair(Out out, const std::string& one, const std::string& other) {
  fmt::format_to(out, "link add name {0} address {2} type veth peer name {1} address {2}\n", one, other, mac);
  for (const auto& device : {one, other}) fmt::format_to(out, "link set {} arp off up\n", device);
}

void add_host_links(Out out, const Plan& plan) {
  for (std::size_t k = 0; k < plan.hosts.size(); ++k) {
    const std::string space = namespace_of(plan.id, plan.hosts[k].alias);
    const auto link = [&](const char* fabric_end, const char* host_end) {
      fmt::format_to(out, "link add name {0}{1} address {3} type veth peer name {2} address {3} netns {4}\n",
                     fabric_end, k, host_end, mac, space);
      fmt::format_to(out, "link set {}{} arp off up\n", fabric_end, k);
    };
    link("h", "eth0");
    link("x", "eth1");
    if (k == 0) fmt::format_to(out, "addr add {}/32 dev x0\n", fabric_control);
    fmt::format_to(out, "route add {}/32 dev x{} src {}\n", plan.hosts[k].control, k, fabric_control);
  }
}

void add_turns(Out out, const Plan& plan) {
  std::map<std::string, int> tables;
  std::map<std::string, int> exits;
  for (const auto& turn : plan.turns) {
    const auto [table, is_new] =
        tables.try_emplace(turn.arrival, first_table + static_cast<int>(tables.size()));
    if (is_new) fmt::format_to(out, "rule add pref 200 iif {} lookup {}\n", turn.arrival, table->second);
    const auto& to = plan.hosts[static_cast<std::size_t>(turn.to)].address;
    if (turn.from < 0) {
      fmt::format_to(out, "route add {}/32 dev {} table {}\n", to, turn.departure, table->second);
      continue;
    }
    const auto [exit, is_new_exit] =
        exits.try_emplace(turn.departure, first_exit_table + static_cast<int>(exits.size()));
    if (is_new_exit) fmt::format_to(out, "route add default dev {} table {}\n", turn.departure, exit->second);
    fmt::format_to(out, "rule add pref 100 iif {} from {} to {} lookup {}\n", turn.arrival,
                   plan.hosts[static_cast<std::size_t>(turn.from)].address, to, exit->second);
  }
}

/// Classes of a shaper: 1:1 is the channel, 1:2 and higher are its pairs of hosts. A pair has a very small
/// rate of its own and borrows the rest in equal portions, which is max-min sharing. In a channel that is not
/// shared each pair has the whole rate.
void add_shaper(Out out, const Plan& plan, std::size_t number) {
  const Shaper& shaper = plan.shapers[number];
  const Channel& channel = plan.channels[static_cast<std::size_t>(shaper.channel)];
  const std::string device = fmt::format("a{}", number);
  const double bytes_per_second = channel.bandwidth.count() * frame_bytes / frame_payload_bytes;
  const double bits_per_second = std::round(8.0 * bytes_per_second);
  const auto burst = static_cast<int>(std::max(least_burst_bytes, bytes_per_second * burst_s));
  const auto quantum = static_cast<int>(std::clamp(shaper.segments * frame_bytes, frame_bytes, 60000.0));
  const double own =
      channel.shared ? std::min(leaf_bits_per_second, bits_per_second / 1000) : bits_per_second;
  fmt::format_to(out, "qdisc add dev {} root handle 1: htb default 0\n", device);
  if (channel.shared)
    fmt::format_to(
        out, "class add dev {0} parent 1: classid 1:1 htb rate {1:.0f}bit burst {2} cburst {2} quantum {3}\n",
        device, bits_per_second, burst, quantum);
  for (std::size_t i = 0; i < shaper.pairs.size(); ++i) {
    fmt::format_to(
        out,
        "class add dev {} parent {} classid 1:{:x} htb rate {:.0f}bit ceil {:.0f}bit burst {} cburst {} "
        "quantum {}\n",
        device, channel.shared ? "1:1" : "1:", i + 2, own, bits_per_second,
        channel.shared ? static_cast<int>(frame_bytes) : burst, burst, quantum);
    // TCP's windows limit the queue.
    fmt::format_to(out, "qdisc add dev {} parent 1:{:x} pfifo limit 1000000\n", device, i + 2);
  }
}

/// Sends packets to the class of their hosts through a hash table, keyed by the last byte of the sender's or
/// receiver's address, whichever has more values.
void classify(Out out, const Plan& plan, std::size_t number) {
  const Shaper& shaper = plan.shapers[number];
  const std::string filter = fmt::format("filter add dev a{} parent 1: protocol ip", number);
  // Packets shorter than 64 bytes are acknowledgements, which the simulator does not count either.
  fmt::format_to(out, "{} prio 1 u32 match u16 0 0xffc0 at 2 flowid 1:0\n", filter);
  std::set<int> senders, receivers;
  for (const auto& [from, to] : shaper.pairs) {
    senders.insert(from);
    receivers.insert(to);
  }
  const bool by_sender = senders.size() > receivers.size();
  fmt::format_to(out, "{} prio 2 handle 2: u32 divisor 256\n", filter);
  for (std::size_t i = 0; i < shaper.pairs.size(); ++i) {
    const auto [from, to] = shaper.pairs[i];
    fmt::format_to(out, "{} prio 2 u32 ht 2:{:x}: match ip src {}/32 match ip dst {}/32 flowid 1:{:x}\n",
                   filter, (by_sender ? from : to) + 1, plan.hosts[static_cast<std::size_t>(from)].address,
                   plan.hosts[static_cast<std::size_t>(to)].address, i + 2);
  }
  fmt::format_to(out, "{} prio 2 u32 ht 800:: match u32 0 0 hashkey mask 0x000000ff at {} link 2:\n", filter,
                 by_sender ? 12 : 16);
}

}  // namespace

std::string fabric_devices(const Plan& plan) {
  std::string text = "link set lo up\n";
  const Out out(text);
  add_host_links(out, plan);
  for (std::size_t i = 0; i < plan.shapers.size(); ++i) {
    if (plan.shapers[i].front) {
      add_pair(out, fmt::format("s{}", i), fmt::format("t{}", i));
      fmt::format_to(out, "link set s{} gso_max_segs {}\n", i, plan.shapers[i].segments);
    }
    add_pair(out, fmt::format("a{}", i), fmt::format("b{}", i));
  }
  add_turns(out, plan);
  return text;
}

std::string host_devices(const PlanHost& host) {
  return fmt::format(
      "link set lo up\n"
      "link set eth0 gso_max_segs {}\n"
      "addr add {}/16 dev eth0\n"
      "addr add {}/16 dev eth1\n"
      "link set eth0 arp off up\n"
      "link set eth1 arp off up\n",
      host.segments, host.address, host.control);
}

std::string shaping(const Plan& plan) {
  std::string text;
  const Out out(text);
  for (std::size_t i = 0; i < plan.shapers.size(); ++i) {
    add_shaper(out, plan, i);
    classify(out, plan, i);
    const Seconds latency = plan.channels[static_cast<std::size_t>(plan.shapers[i].channel)].latency;
    if (plan.delays && latency > Seconds(0.0))
      fmt::format_to(out, "qdisc add dev s{} root netem delay {:.0f}ns limit 1000000\n", i,
                     latency.count() * 1e9);
  }
  return text;
}

std::vector<Sysctl> fabric_sysctls() {
  return {{"ipv6/conf/all/disable_ipv6", {"1"}},
          {"ipv6/conf/default/disable_ipv6", {"1"}},
          {"ipv4/ip_forward", {"1"}},
          {"ipv4/conf/all/rp_filter", {"0"}},
          {"ipv4/conf/default/rp_filter", {"0"}},
          {"ipv4/conf/all/send_redirects", {"0"}},
          {"ipv4/conf/default/send_redirects", {"0"}}};
}

std::vector<Sysctl> host_sysctls(const Plan& plan) {
  const auto buffer = plan.socket_buffer.count();
  return {{"ipv6/conf/all/disable_ipv6", {"1"}},
          {"ipv6/conf/default/disable_ipv6", {"1"}},
          // Routes may have many hops.
          {"ipv4/ip_default_ttl", {"255"}},
          // The machine's default may pace packets itself (BBR); these two fill the link.
          {"ipv4/tcp_congestion_control", {"cubic", "reno"}},
          {"ipv4/tcp_slow_start_after_idle", {"0"}},
          {"ipv4/tcp_no_metrics_save", {"1"}},
          // Large from the start: Open MPI keeps its sockets, so messages need not wait for buffers to grow.
          {"ipv4/tcp_rmem", {fmt::format("4096 {} {}", buffer, 2 * buffer)}},
          {"ipv4/tcp_wmem", {fmt::format("4096 {} {}", buffer, buffer)}}};
}

std::string hosts_file(const Plan& plan) {
  std::string text = fmt::format("127.0.0.1 localhost\n{} {}\n", fabric_control, fabric_name);
  for (const auto& host : plan.hosts) text += fmt::format("{} {}\n", host.address, host.alias);
  return text;
}

std::string enter_script(const std::string& id, const std::string& hosts_path) {
  return fmt::format(
      "#!/bin/sh\n"
      "# HOST COMMAND...: runs the command as a host of the emulated cluster, in its network, with its name "
      "and "
      "its\n"
      "# /etc/hosts.\n"
      "host=$1\n"
      "shift\n"
      "exec nsenter --net=/run/netns/{} unshare --uts --mount sh -c '\n"
      "  hostname \"$0\" && mount --bind {} /etc/hosts && exec \"$@\"' \"$host\" \"$@\"\n",
      namespace_of(id, "\"$host\""), hosts_path);
}

std::string agent_script(const std::string& enter_path) {
  return fmt::format(
      "#!/bin/sh\n"
      "# HOST COMMAND...: mpirun calls this instead of ssh.\n"
      "host=$1\n"
      "shift\n"
      "exec /bin/sh {} \"$host\" sh -c \"exec $*\"\n",
      enter_path);
}

}  // namespace tandem::cluster
