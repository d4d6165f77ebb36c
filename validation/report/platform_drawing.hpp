// A platform as a drawing of three layers: hosts, the switches that they are connected to, and what connects
// the switches. Derived from nothing but routes; a script of the HTML page draws it. Pure.
#pragma once

#include <nlohmann/json.hpp>

#include "validation/report/page.hpp"

namespace tandem::validation {

/// `platform`: {name, hosts: [{name, device, flops_per_s, precision (of that rate; may be empty), roles:
/// [text,
/// ...]}], hosts_left_out, links: [{name, bytes_per_s, latency_s}], routes: [{from, to (names of hosts),
/// links: [name, ...]}]}, of all ordered pairs of these hosts that have a route.
///
/// Returns texts for people: {title, note,
/// switches: [{inside: [label, ...] (links that all messages between its hosts share), link (label of those
/// that only messages from and to other switches cross), hosts: [{name, about, link}]}],
/// trunks: [{between: [index, ...] of switches, label (further links that messages between them share)}]}.
/// Hosts are connected to one switch if no two of them have a shorter way to each other than through it:
/// their routes share no further link. Equal hosts of a switch are drawn once, with their number, if there
/// are more than four.
nlohmann::json platform_drawing(const nlohmann::json& platform);

/// A heading and one drawing for each of `platforms` in the report's document; nothing without them.
void add_platforms(const nlohmann::json& document, Page& page);

}  // namespace tandem::validation
