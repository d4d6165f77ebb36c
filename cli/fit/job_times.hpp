// The closed forms of the jobs of a table, as functions of the numbers that a fit looks for: those of the
// network or of the servers, and the computing time of each model on its device.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "cli/fit/timed_rows.hpp"
#include "policies/estimates/positive_fit.hpp"
#include "workloads/cost/server_cost.hpp"

namespace tandem::cli {

enum class FitSubject : std::uint8_t { network, server };

class JobTimes {
 public:
  struct Setting {
    FitSubject subject = FitSubject::network;
    std::string links =
        "*";  ///< whose rates and latencies are looked for: names, separated by commas; * matches
    bool has_window = false;  ///< also look for TCP's window
  };
  /// Errors: ConfigError for a job without a closed form, and where `links` match none.
  JobTimes(std::vector<TimedRow> rows, Setting setting, PlatformCache& platforms);

  const std::vector<TimedRow>& rows() const { return rows_; }
  const std::vector<estimates::FitNumber>& numbers() const { return numbers_; }
  /// The step time of each row.
  std::vector<double> predict(const std::vector<double>& numbers) const;
  std::vector<double> measured() const;

  struct Link {
    std::string name;
    BytesPerSecond bandwidth;
    Seconds latency;
  };
  /// The chosen links with these numbers, by name. Directions of a link are one.
  std::vector<Link> links(const std::vector<double>& numbers) const;
  /// The cost of every server. Pre: subject server.
  ServerCost server_cost(const std::vector<double>& numbers) const;

 private:
  using Group = std::tuple<std::string, int, std::string>;  ///< model, batch, device
  struct Place {
    platforms::Network network;     ///< between the hosts of the prediction
    platforms::Network of_workers;  ///< as network_of_workers()
    Group group;
    bool has_measured = false;  ///< the experiment gives the computing time
  };
  void choose_links();
  void add_network_numbers();
  void add_server_numbers();
  void add_groups(PlatformCache& platforms);
  double step_s(std::size_t row, const std::vector<double>& numbers) const;
  platforms::Network changed(platforms::Network network, const std::vector<double>& numbers) const;

  std::vector<TimedRow> rows_;
  Setting setting_;
  std::vector<Place> places_;  ///< by row
  std::vector<estimates::FitNumber> numbers_;
  std::map<std::string, Link> chosen_;      ///< by channel: as the platform states them
  std::map<Group, std::size_t> computing_;  ///< numbers
};

}  // namespace tandem::cli
