//! Where the leaves and branches of a tree are kept.

/// Lists of at most so many, by number.
#[derive(Debug)]
pub(super) struct Pool<T> {
    lists: Vec<Vec<T>>,
    vacant: Vec<u32>,
    most: usize,
}

impl<T: Copy> Pool<T> {
    pub(super) fn new(most: usize) -> Self {
        Self { lists: Vec::new(), vacant: Vec::new(), most }
    }

    /// A list of these.
    pub(super) fn take(&mut self, items: &[T]) -> u32 {
        let mut list = Vec::with_capacity(self.most);
        list.extend_from_slice(items);
        match self.vacant.pop() {
            Some(at) => {
                self[at] = list;
                at
            }
            None => {
                self.lists.push(list);
                u32::try_from(self.lists.len() - 1).expect("there are no more lists than slots")
            }
        }
    }

    /// Gives up a list.
    pub(super) fn give_back(&mut self, at: u32) -> Vec<T> {
        self.vacant.push(at);
        std::mem::take(&mut self[at])
    }

    /// Moves the upper half of a list to a new one.
    pub(super) fn halve(&mut self, at: u32) -> u32 {
        let half = self[at].len() / 2;
        let upper: Vec<T> = self[at].drain(half..).collect();
        self.take(&upper)
    }
}

impl<T> std::ops::Index<u32> for Pool<T> {
    type Output = Vec<T>;

    fn index(&self, at: u32) -> &Vec<T> {
        &self.lists[at as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Pool<T> {
    fn index_mut(&mut self, at: u32) -> &mut Vec<T> {
        &mut self.lists[at as usize]
    }
}
