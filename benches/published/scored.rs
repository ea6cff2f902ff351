//! Policies that give each node a score.

use std::collections::BTreeMap;

use crate::chooser::{Choice, Chooser};
use crate::cluster::{Cluster, Node};
use crate::request::Request;

/// A score for each node.
pub(crate) trait Score {
    /// The score of a node on which the request fits, and the GPU to take if it is for a share.
    fn score(&self, node: &Node, request: &Request) -> (i64, usize);
}

/// Chooses the node with the highest score, and the one with the lowest rank among equal ones.
///
/// The scores of each kind of request are kept, and computed again for the nodes that have changed since.
#[derive(Clone, Debug)]
pub(crate) struct Scored<S> {
    rule: S,
    known: BTreeMap<Request, Known>,
    /// The nodes that were chosen, in order.
    changed: Vec<usize>,
}

/// The scores of one kind of request.
#[derive(Clone, Debug, Default)]
struct Known {
    /// Score and GPU of each node; `None` if the request does not fit.
    scores: Vec<Option<(i64, usize)>>,
    /// Number of the changes that are counted in.
    read: usize,
}

impl<S: Score> Scored<S> {
    /// With this rule.
    pub(crate) fn new(rule: S) -> Self {
        Self { rule, known: BTreeMap::new(), changed: Vec::new() }
    }
}

impl<S: Score> Chooser for Scored<S> {
    fn choose(&mut self, cluster: &Cluster, ranks: &[u32], request: &Request) -> Option<Choice> {
        let Self { rule, known, changed } = self;
        let Known { scores, read } = known.entry(*request).or_default();
        let score = |node: &Node| node.fits(request).then(|| rule.score(node, request));
        if scores.is_empty() {
            scores.extend(cluster.nodes.iter().map(score));
        } else {
            for &node in &changed[*read..] {
                scores[node] = score(&cluster.nodes[node]);
            }
        }
        *read = changed.len();
        let fitting = scores.iter().enumerate().filter_map(|(node, known)| known.map(|known| (node, known)));
        let better = |(node, (score, _)): &(usize, (i64, usize))| (*score, std::cmp::Reverse(ranks[*node]));
        let (node, (_, gpu)) = fitting.max_by_key(better)?;
        changed.push(node);
        Some(Choice { node, gpu })
    }
}
