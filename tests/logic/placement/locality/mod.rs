//! Laws of matching requests with places, compared with a rule that checks every pair.

mod needs;

use std::collections::BTreeMap;

use firesteel_placement::advanced::locality::{
    Locality, LocalityIndex, Sites, Topology, nearness, next_match,
};
use quickcheck::{Arbitrary, Gen};

use crate::suites::laws::{ensure, hold};

/// Requests by their hosts, places by their host, the places' room, and racks of hosts.
#[derive(Clone, Debug)]
struct Crowd {
    wants: Vec<Vec<u8>>,
    places: Vec<(u8, u8)>,
    racks: BTreeMap<u8, u8>,
}

impl Arbitrary for Crowd {
    fn arbitrary(g: &mut Gen) -> Self {
        let host = |g: &mut Gen| u8::arbitrary(g) % 8;
        let few = |g: &mut Gen, most: u8| u8::arbitrary(g) % (most + 1);
        let wants = (0..few(g, 12)).map(|_| (0..few(g, 3)).map(|_| host(g)).collect()).collect();
        let places = (0..few(g, 8)).map(|_| (host(g), few(g, 3))).collect();
        let racks = (0..few(g, 8)).map(|_| (host(g), few(g, 2))).collect();
        Self { wants, places, racks }
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let Self { wants, places, racks } = self.clone();
        let (one, two) = (self.clone(), self.clone());
        let racks = racks.shrink().map(move |racks| Self { racks, ..one.clone() });
        let places = places.shrink().map(move |places| Self { places, ..two.clone() });
        let whole = self.clone();
        let wants = wants.shrink().map(move |wants| Self { wants, ..whole.clone() });
        Box::new(wants.chain(places).chain(racks))
    }
}

/// A request, its place, and their locality.
type Met = (usize, usize, Locality);

impl Crowd {
    fn topology(&self) -> Topology {
        self.racks.iter().map(|(host, rack)| (host.to_string(), rack.to_string())).collect()
    }

    fn sites(&self) -> (Vec<Sites>, Vec<Sites>) {
        let topology = self.topology();
        let sites = |hosts: &[u8]| {
            let names: Vec<String> = hosts.iter().map(ToString::to_string).collect();
            topology.sites(names.iter().map(String::as_str))
        };
        let wants = self.wants.iter().map(|hosts| sites(hosts)).collect();
        (wants, self.places.iter().map(|(host, _)| sites(&[*host])).collect())
    }

    /// The matches by the index: each level completely before the next one, places in turn.
    fn served(&self) -> Vec<Met> {
        let (sites_of_wants, sites_of_places) = self.sites();
        let (mut wants, mut places) = (LocalityIndex::default(), LocalityIndex::default());
        let mut room: Vec<u8> = self.places.iter().map(|(_, room)| *room).collect();
        // From last to first: the order of insertion must not matter.
        (0..sites_of_wants.len()).rev().for_each(|want| wants.insert(want, &sites_of_wants[want]));
        (0..sites_of_places.len()).rev().for_each(|place| places.insert(place, &sites_of_places[place]));
        let (mut met, mut turn) = (Vec::new(), 0);
        for level in Locality::ALL {
            while let Some((want, place)) = next_match(&wants, &places, level, turn, |place| room[place] > 0)
            {
                wants.remove(want, &sites_of_wants[want]);
                room[place] -= 1;
                if room[place] == 0 {
                    places.remove(place, &sites_of_places[place]);
                }
                turn = place + 1;
                met.push((want, place, level));
            }
        }
        met
    }

    /// The matches by checking every pair.
    fn served_slowly(&self) -> Vec<Met> {
        let (wants, places) = self.sites();
        let mut room: Vec<u8> = self.places.iter().map(|(_, room)| *room).collect();
        let mut waiting: Vec<usize> = (0..wants.len()).collect();
        let (mut met, mut turn) = (Vec::new(), 0);
        for level in Locality::ALL {
            loop {
                let in_turn = (turn..places.len()).chain(0..turn.min(places.len()));
                let pairs = in_turn.flat_map(|place| waiting.iter().map(move |want| (*want, place)));
                let mut fitting = pairs.filter(|(want, place)| {
                    room[*place] > 0 && nearness(&wants[*want], &places[*place]) <= level
                });
                let Some((want, place)) = fitting.next() else { break };
                waiting.retain(|other| *other != want);
                room[place] -= 1;
                turn = place + 1;
                met.push((want, place, level));
            }
        }
        met
    }
}

#[test]
fn the_index_serves_as_a_look_at_every_pair_does() {
    hold("the_index_serves", 50_000, |crowd: &Crowd| {
        let (found, expected) = (crowd.served(), crowd.served_slowly());
        ensure!(found == expected, "every pair gives {expected:?}, the index {found:?}");
        Ok(())
    });
}

#[test]
fn nobody_is_served_farther_than_needed_and_none_is_left_over_beside_room() {
    hold("nobody_is_served_farther", 50_000, |crowd: &Crowd| {
        let met = crowd.served();
        let (wants, places) = crowd.sites();
        let mut room: Vec<u8> = crowd.places.iter().map(|(_, room)| *room).collect();
        for (want, place, level) in &met {
            let near = nearness(&wants[*want], &places[*place]);
            ensure!(near == *level, "want {want} is served at {level} by place {place}, which is at {near}");
            ensure!(room[*place] > 0, "place {place} serves more than it has room for");
            let best = (0..places.len()).filter(|other| room[*other] > 0);
            let best = best.map(|other| nearness(&wants[*want], &places[other])).min();
            ensure!(best == Some(near), "want {want} is served at {near}, and {best:?} has room");
            room[*place] -= 1;
        }
        let left = room.iter().map(|room| usize::from(*room)).sum::<usize>();
        ensure!(met.len() == wants.len() || left == 0, "{left} places are left, and a want waits");
        Ok(())
    });
}

#[test]
fn the_nearest_in_an_index_is_the_nearest_of_all_in_it_and_taking_out_undoes_putting_in() {
    hold("the_nearest_in_an_index", 50_000, |crowd: &Crowd| {
        let (wants, places) = crowd.sites();
        let mut index = LocalityIndex::default();
        places.iter().enumerate().for_each(|(id, sites)| index.insert(id, sites));
        for sites in &wants {
            let expected = places.iter().map(|place| nearness(sites, place)).min().unwrap_or(Locality::Any);
            ensure!(
                index.nearest(sites) == expected,
                "the index says {}, not {expected}",
                index.nearest(sites)
            );
            for level in Locality::ALL {
                let near = |id: &usize| nearness(sites, &places[*id]) <= level;
                let met = match level {
                    Locality::Host | Locality::Any => (0..places.len()).find(near),
                    // A rack includes places on the host itself.
                    Locality::Rack => (0..places.len()).find(|id| {
                        let racks: Vec<_> = sites.racks().collect();
                        places[*id].racks().any(|rack| racks.contains(&rack))
                    }),
                };
                let first = index.first(sites, level);
                ensure!(first == met, "at {level} the index begins with {first:?}, not {met:?}");
            }
            for place in &places {
                ensure!(nearness(sites, place) == nearness(place, sites), "nearness has a direction");
            }
        }
        for (id, sites) in places.iter().enumerate() {
            ensure!(index.remove(id, sites) && !index.remove(id, sites), "{id} is taken out once");
        }
        ensure!(index == LocalityIndex::default(), "something is left: {index:?}");
        Ok(())
    });
}
