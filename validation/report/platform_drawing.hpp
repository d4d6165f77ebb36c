// A platform as a drawing: hosts, what connects them, and what connects that. Derived from nothing but
// routes. Pure.
#pragma once

#include <nlohmann/json.hpp>

#include "validation/report/page.hpp"

namespace tandem::validation {

/// `platform`: {name, hosts: [{name, device, flops_per_s, precision (of that rate; may be empty), roles:
/// [text, ...], stands_for (of what_binds())}], hosts_left_out, links: [{name, bytes_per_s, latency_s,
/// sharing (SimGrid's; missing: "SHARED")}], routes: [{from, to (names of hosts), links: [name, ...]}] (of
/// all ordered pairs of these hosts that have a route), binds: {hosts: [name, ...], links: [name, ...]}
/// (what_binds(); missing: nothing)}. Pre: at least one host.
///
/// Returns texts for people: {title, note, root: node}. node: {kind, count (how many equal ones it stands
/// for), binds (whether it, or what its children share, is what binds), rows: [{text, kind ("name", "about",
/// "link"), binds}] (what is written on it), link: [{text, binds}] (links to the node above it), children:
/// [node, ...], lanes: [{from, to (indices of children), text, binds}] (links between two children alone)}.
/// kind: "host"; "switch", without a link between its children; "shared", with a link or more that all
/// messages between them cross; "mesh", with others; "direct", the root where all links are lanes.
///
/// Equal hosts of a node are drawn as one, with their number, if there are more than four; other equal nodes
/// if there are more than two. What binds is drawn by itself, or with others that bind as much. Each link is
/// in one text.
nlohmann::json platform_drawing(const nlohmann::json& platform);

/// A heading and each of `platforms` in the report's document, which are drawings; nothing without them.
void add_platforms(const nlohmann::json& document, Page& page);

}  // namespace tandem::validation
