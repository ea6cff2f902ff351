//! Holds the users to what each may have at the same time.

use crate::Master;
use crate::users::Rooms;

impl Master {
    /// What the executors and running cluster drivers of the users leave of their limits.
    pub(crate) fn rooms(&self) -> Rooms {
        let mut rooms = Rooms::new(self.config.limits.per_user);
        if !self.config.limits.per_user.limits_what_is_held() {
            return rooms;
        }
        for application in self.applications.queue() {
            let (held, executors) = (application.held(), application.executors.len() as u64);
            rooms.count(&application.description.user, executors, held.cores, held.memory);
        }
        for driver in self.drivers.iter().filter(|driver| driver.run.is_some()) {
            rooms.count_driver(&driver.description);
        }
        rooms
    }

    /// Tells the applications what their users may still get. Those whose room has changed are considered by the pass.
    pub(crate) fn limit_users(&mut self) {
        if self.config.limits.per_user.limits_what_is_held() {
            let rooms = self.rooms();
            self.applications.set_rooms(&rooms);
        }
    }

    /// The live applications and cluster drivers of a user.
    pub(crate) fn live_of(&self, user: &str) -> u64 {
        let applications = self.applications.queue().filter(|app| app.description.user == user).count();
        let drivers = self.drivers.iter().filter(|driver| driver.description.user == user).count();
        (applications + drivers) as u64
    }
}
