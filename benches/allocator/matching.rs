//! How many tasks can run on one of their hosts: a maximum matching of tasks and places.

use std::collections::VecDeque;

/// The most tasks that can each have a place on one of their hosts; `places` are the places of each host.
///
/// Each task in turn searches for a place, breadth first, along paths on which placed tasks move to other hosts. Later
/// tasks need not repeat a failed search. So all failed searches together cost no more than the number of tasks and
/// hosts.
pub fn most_on_their_hosts(tasks: &[[usize; 3]], places: &[u64]) -> u64 {
    let mut left = places.to_vec();
    let mut on_host: Vec<Vec<usize>> = vec![Vec::new(); places.len()];
    let mut host_of: Vec<Option<usize>> = vec![None; tasks.len()];
    let mut full = vec![false; places.len()];
    let mut matched = 0;
    for task in 0..tasks.len() {
        // The task from which each host was reached.
        let mut from: Vec<Option<usize>> = vec![None; places.len()];
        let mut queue = VecDeque::from([task]);
        let mut end = None;
        let mut seen = Vec::new();
        'search: while let Some(next) = queue.pop_front() {
            for host in tasks[next] {
                if full[host] || from[host].is_some() {
                    continue;
                }
                from[host] = Some(next);
                seen.push(host);
                if left[host] > 0 {
                    end = Some(host);
                    break 'search;
                }
                queue.extend(&on_host[host]);
            }
        }
        let Some(mut host) = end else {
            seen.into_iter().for_each(|host| full[host] = true);
            continue;
        };
        matched += 1;
        left[host] -= 1;
        loop {
            let moved = from[host].expect("the search came by it");
            on_host[host].push(moved);
            let Some(before) = host_of[moved].replace(host) else { break };
            on_host[before].retain(|task| *task != moved);
            host = before;
        }
    }
    matched
}
