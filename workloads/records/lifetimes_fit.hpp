// What `tandem fit lifetimes` has found about a file: its text, its page, the file of its model and its
// document are made of this. Plain data.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policies/lifetimes/estimate/correlation.hpp"
#include "policies/lifetimes/estimate/fit.hpp"
#include "policies/lifetimes/estimate/hours.hpp"
#include "policies/lifetimes/estimate/limit.hpp"
#include "policies/lifetimes/estimate/survival.hpp"
#include "policies/vocabulary/options.hpp"

namespace tandem {

/// A lifetime model with its options, as experiments take it.
struct ChosenLifetime {
  std::string name;
  std::map<std::string, OptionValue> options = {};
};

/// What is known of machines of which some have departed. Times are seconds.
struct EstimatedLifetimes {
  struct Mean {
    double limit = 0.0;  ///< the age up to which it is taken
    lifetimes::Estimate estimate = {};
  };
  struct Model {
    lifetimes::Fitted fitted = {};
    double aic_difference = 0.0;                         ///< to the best model
    std::vector<std::pair<double, double>> points = {};  ///< ages with the survival, for the page
  };
  double median = 0.0;  ///< infinite: not reached
  Mean mean = {};
  std::optional<lifetimes::CommonLimit> limit = {};  ///< of the provider
  std::vector<Model> models = {};                    ///< the best first
  ChosenLifetime chosen = {};
  std::vector<lifetimes::RateOfAges> by_age = {};
  std::optional<lifetimes::HoursOfDay> by_hour = {};  ///< none: no clock, or too few departures
};

/// The machines of a file, or of a group of them, each counted with its weight.
struct LifetimesSample {
  std::map<std::string, std::string> values = {};  ///< of a group, by the columns that make it
  double machines = 0.0;
  double revoked = 0.0;
  double failed = 0.0;
  double censored = 0.0;
  double in_interval = 0.0;  ///< departures of which only an interval is known
  double observed_s = 0.0;
  lifetimes::SurvivalCurve curve = {};
  std::optional<EstimatedLifetimes> estimated = {};  ///< none: no machine departed
};

struct LifetimesFit {
  struct Correlation {
    double window_s = 0.0;
    lifetimes::CorrelationIndex index = {};
  };
  std::string file;
  LifetimesSample all = {};
  double confidence = 0.0;
  std::string intervals = {};  ///< how they were found
  std::optional<Correlation> correlation = {};
  std::vector<LifetimesSample> groups = {};
  std::optional<lifetimes::LogRank> log_rank = {};  ///< of the groups; none: too few departed
};

/// What `tandem fit lifetimes --json` prints.
nlohmann::json document_of(const LifetimesFit& fit);
/// The steps of the curve, as in the document.
nlohmann::json document_of(const lifetimes::SurvivalCurve& curve);
nlohmann::json document_of(const ChosenLifetime& chosen);
nlohmann::json document_of(const std::vector<lifetimes::RateOfAges>& ages);
nlohmann::json document_of(const lifetimes::HoursOfDay& hours);
/// The file of the chosen model, which the key transience.lifetime takes. With a model for each group: that
/// of all machines for a group in which none departed. Pre: fit.all.estimated.
nlohmann::json model_file_of(const LifetimesFit& fit);

/// "likelihood ratio 61.2 with 23 degrees of freedom, p = 2.4e-05; AIC -15.2 against rates by age alone", or
/// that it is inconclusive.
std::string verdict_of(const lifetimes::HoursOfDay& hours);
/// The keys `transience` of an experiment (YAML) with this model.
std::string experiment_lines_of(const lifetimes::HoursOfDay& hours);

/// "12.3 h", "45 min", "7.5 s"; "-" if it is not finite.
std::string age_text(double seconds);
/// "device k80, region east": a group by its values.
std::string name_of_group(const LifetimesSample& group);

}  // namespace tandem
